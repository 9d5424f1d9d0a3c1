"""What the details box says, against the report's numbers."""


def row_of(page, procedure):
    rows = page.report("--inclusive", page.profile("efficiency"))["rows"]
    return [row for row in rows if row["procedure"] == procedure][0]


def test_counts_are_the_report_s(page):
    page.flame("--no-comm", page.profile("efficiency"))
    for path, procedure in (("main;parse", "parse"), ("main;parse;hash", "hash")):
        page.hover(path)
        page.until(lambda: page.tip()[0] == [procedure], "the details")
        row = row_of(page, procedure)
        for at, event in enumerate(("cycles", "instructions")):
            own, total, _, samples = page.tip_row(event)
            wanted = (row["self"][at]["estimate"], row["inclusive"][at]["estimate"], row["inclusive"][at]["samples"])
            assert (int(own), int(total), int(samples)) == wanted, (page.tip(), wanted)


def test_units_are_said_where_names_do_not_say_them(page):
    page.flame("--no-comm", page.profile("watch-before"))
    page.hover(page.paths()[1])
    assert len(page.tip_row("cpu-clock (ns)")) == 4, page.tip()


def test_cpi_and_its_interval_are_the_report_s(page):
    page.flame("--no-comm", page.profile("efficiency"))
    page.hover("main;parse;hash")
    row = row_of(page, "hash")["cpi"][0]
    cpi, low, high = [row["cycles_per_instruction" + end] for end in ("", "_low", "_high")]
    said = page.tip()[-1][0]
    wanted = f"CPI {cpi:.2f} (95 %: {low:.2f} to {high:.2f})"
    assert said == wanted, (said, wanted)


def test_kind_image_and_source_are_said_in_words(page):
    page.flame("--no-comm", page.profile("efficiency"))
    page.hover("main;read_all;vfs_read")
    assert page.tip()[1][0].startswith("kernel \u00b7 "), page.tip()[1]
    page.hover("main;parse")
    page.until(lambda: page.tip()[0] == ["parse"], "the details")
    assert page.tip()[1][0].startswith("user code \u00b7 numbers"), page.tip()[1]


def test_too_few_samples_are_hatched_and_said(page):
    path = "main;read_all;vfs_read;rarely"
    page.flame("--no-comm", page.profile("efficiency"), link=f"#frame={path}")
    assert "ns" in page.rect(path).get_attribute("class").split()
    page.hover(path)
    page.until(lambda: page.tip()[0] == ["rarely"], "the details")
    assert page.tip()[-1][0].endswith(": too few samples to colour"), page.tip()


def test_the_kernel_s_frames_have_a_mark(page):
    page.flame("--no-comm", page.profile("efficiency"))
    corners = page.js("return document.querySelector('#marks .mark.k').getAttribute('d').split('z').length - 1")
    shown = page.js("""const d = JSON.parse(document.getElementById('flame-data').textContent).frames;
        const unit = document.getElementById('view').getAttribute('width') / d.w[0];
        return d.kind.filter((kind, i) => kind === 1 && d.w[i] * unit >= 4).length""")
    assert corners == shown > 0, (corners, shown)


def test_names_from_strangers_are_text(page):
    hostile = ["<script>window.hit=1</script>", "]]><script>window.hit=1</script>", "\"><img src=x onerror=window.hit=1>",
               "</title></text></svg><script>window.hit=1</script>", "&lt;b&gt;&amp;", "</script><script>window.hit=1</script>",
               "';window.hit=1;'", "${window.hit=1}", "\\u003cscript>", "<!--<script>", "__proto__", "constructor"]
    stacks = "".join(f"{name};{other} 10\n" for name in hostile for other in hostile[:3])
    for form in ("svg", "html"):
        page.flame("--no-comm", "--title", hostile[0], page.make("hostile.folded", stacks), form=form)
        for name in hostile:
            assert name in page.paths(), (name, page.paths())
        page.hover(hostile[2])
        assert page.tip()[0] == [hostile[2]], page.tip()
        page.search(hostile[0])
        assert "frames" in page.text("#matched")
        page.click(hostile[1])
        assert page.js("return [window.hit, document.querySelectorAll('img').length]") == [None, 0]
