"""What the details of a differential graph say: every figure by its name."""


def draw_difference(page, before, after, *arguments, form="svg"):
    page.flame("--no-comm", "--diff", page.make("before.folded", before), *arguments,
               page.make("after.folded", after), form=form)


def test_a_difference_is_said_in_every_way_people_ask_for(page):
    # the article's own figures: 36.7 % fewer cycles there, -11.59 % of all of after
    draw_difference(page, "main;pixelLogLikelihood 315804\nmain;other 800096\n",
                    "main;pixelLogLikelihood 199904\nmain;other 800096\n")
    page.hover("main;pixelLogLikelihood")
    assert page.tip_row("before")[0] == "315804", page.tip()
    assert page.tip_row("after")[0] == "199904", page.tip()
    assert page.tip_row("difference")[0] == "-115900", page.tip()
    assert page.tip_row("change against before")[0] == "-36.70 %", page.tip()
    assert page.tip_row("share of total before")[0] == "28.30 %", page.tip()
    assert page.tip_row("share of total after")[0] == "19.99 %", page.tip()
    assert page.tip_row("global: difference / total after")[0] == "-11.59 %", page.tip()


def test_half_is_minus_fifty_and_globally_minus_a_hundred(page):
    draw_difference(page, "main 200\n", "main 100\n")
    page.hover("main")
    assert page.tip_row("change against before")[0] == "-50.00 %", page.tip()
    assert page.tip_row("global: difference / total after")[0] == "-100.00 %", page.tip()


def test_a_side_that_was_watched_longer_is_scaled_before_it_is_compared(page):
    page.flame("--no-comm", "--diff", page.profile("watch-before"), page.profile("watch-after"))
    path = next(path for path in page.paths() if path.endswith("crunch"))
    page.hover(path)
    assert page.tip_row("") == ["cpu-clock (ns) total", "cpu-clock (ns) self"], page.tip()
    before, scaled, after = [int(page.tip_row(name)[1]) for name in ("before", "before, scaled", "after")]
    assert (before * 2, scaled) == (scaled, 6000000000), page.tip()
    assert page.tip_row("difference")[1] == str(after - scaled), page.tip()
    assert page.tip_row("change against before")[1] == f"{100 * (after - scaled) / scaled:.2f} %", page.tip()


def test_what_may_be_chance_is_hatched_and_said(page):
    page.flame("--no-comm", "--diff", page.profile("build-before"), page.profile("build-after"))
    path = next(path for path in page.paths() if path.endswith("exp"))
    assert "ns" in page.rect(path).get_attribute("class").split()
    page.hover(path)
    assert any(line[0].endswith(", not significant") for line in page.tip()), page.tip()


def test_a_change_of_cycles_is_split_into_instructions_and_cpi(page):
    page.flame("--no-comm", "--diff", page.profile("build-before"), page.profile("build-after"))
    page.hover(next(path for path in page.paths() if path.endswith("multiply")))
    difference = int(page.tip_row("difference")[1])
    said = next(line[0] for line in page.tip() if line[0].startswith("of the difference"))
    words = said.replace(",", "").split()
    parts = [int(word) for word in words if word[0] in "+-0"]
    assert abs(sum(parts) - difference) <= abs(difference) * 0.001, (said, difference)


def test_what_vanished_is_still_there(page):
    draw_difference(page, "main;old 300\nmain;kept 700\n", "main;new 200\nmain;kept 700\n")
    page.hover("main;old")
    assert page.tip_row("after")[0] == "0", page.tip()
    assert page.tip_row("change against before")[0] == "-100.00 %", page.tip()
    page.hover("main;new")
    page.until(lambda: page.tip()[0] == ["new"], "the details")
    assert page.tip_row("change against before")[0] == "new", page.tip()


def test_a_search_says_the_share_of_both_sides(page):
    draw_difference(page, "main;old 300\nmain;kept 700\n", "main;new 200\nmain;kept 800\n")
    page.search("kept")
    assert page.text("#matched") == "Matched: 70.00 % of samples before, 80.00 % after, 1 frame", page.text("#matched")


def test_widths_of_before_have_the_same_figures(page):
    draw_difference(page, "main;old 300\nmain;kept 700\n", "main;new 200\nmain;kept 800\n", "--inverse-diff")
    page.hover("main;kept")
    assert page.tip_row("before")[0] == "700", page.tip()
    assert page.text("#details") == "kept, samples +14.29 % against before, 80.00 % of samples after", page.text("#details")
