"""What is seen at first sight, with and without the script."""

from test_zoom import draw


def overlaps(page):
    """Pairs of things around the graph that lie on each other."""
    return page.js("""
        const parts = [];
        const add = (name, node) => {
            const box = node.getBoundingClientRect();
            if (box.width && box.height && getComputedStyle(node).display !== 'none')
                parts.push([name, box]);
        };
        for (const node of document.querySelectorAll('#title, #legend text, #details, #matched, .bar button, .bar input'))
            add(node.id || node.textContent || node.tagName, node);
        for (const node of document.querySelectorAll('#subtitle tspan'))
            add(node.textContent, node);
        const view = document.getElementById('view'), number = name => Number(view.getAttribute(name));
        const seen = document.getElementById('culprit-flame').getBoundingClientRect();
        parts.push(['the frames', new DOMRect(seen.left + number('x'), seen.top + number('y'), number('width'), number('height'))]);
        const found = [];
        for (let i = 0; i < parts.length; i++)
            for (let j = i + 1; j < parts.length; j++) {
                const [a, b] = [parts[i][1], parts[j][1]];
                if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
                    found.push(parts[i][0] + ' / ' + parts[j][0]);
            }
        return found""")


def test_nothing_lies_on_anything_else(page):
    for arguments in (["--color", "cpi"], ["--color", "ipc"], ["--color", "package"], ["--color", "none"]):
        page.flame(*arguments, page.profile("efficiency"))
        assert overlaps(page) == [], (arguments, overlaps(page))


def test_a_long_title_leaves_room_for_the_controls(page):
    page.flame("--title", "a long title " * 30, page.profile("efficiency"))
    assert overlaps(page) == [], overlaps(page)


def test_a_narrow_picture_has_room_too(page):
    for arguments in (["--color", "ipc"], ["--color", "package"]):
        page.flame("--width", "420", "--title", "a long title " * 30, *arguments, page.profile("efficiency"))
        assert overlaps(page) == [], (arguments, overlaps(page))


def test_changes_in_percent_have_room_below_the_scale(page):
    page.flame("--diff", page.make("before.folded", "main;a 400\nmain;b 600\n"),
               page.make("after.folded", "main;a 800\nmain;b 500\n"))
    assert overlaps(page) == [], overlaps(page)


def test_without_a_script_the_picture_is_complete(page):
    page.scripts(False)
    try:
        page.flame("--no-comm", page.profile("efficiency"))
    finally:
        page.scripts(True)
    names = page.js("return Array.from(document.querySelectorAll('#labels text'), t => t.textContent)")
    assert {"main", "parse", "scan", "copy_user"} <= set(names), names
    assert page.js("return document.querySelectorAll('#frames rect title').length") == len(page.paths())
    assert page.js("return getComputedStyle(document.querySelector('#frames rect')).display") != "none"


def test_the_same_cpi_has_one_colour_in_every_graph(page):
    def colour_of_hash(*arguments):
        page.flame("--no-comm", *arguments, page.profile("efficiency"))
        return page.js("return getComputedStyle(arguments[0]).fill", page.rect("main;parse;hash"))
    whole = colour_of_hash()
    assert whole == colour_of_hash("--focus", "hash") == colour_of_hash("--color", "ipc"), whole


def tall():
    return "".join(f"main;side_{n} 100\n" for n in range(9)) + "main;" + ";".join(f"deep_{n}" for n in range(150)) + " 5\n"


def test_a_graph_of_spires_starts_at_its_root(page):
    page.flame("--no-comm", page.make("tall.folded", tall()))
    page.until(lambda: page.js("return window.scrollY") > 0, "the page to scroll")
    assert page.place("")[3] <= page.js("return window.innerHeight"), page.place("")


def test_the_controls_stay_in_sight(page):
    page.flame("--no-comm", page.make("tall.folded", tall()))
    page.until(lambda: page.js("return window.scrollY") > 0, "the page to scroll")
    page.until(lambda: 0 <= page.js("return document.querySelector('.bar').getBoundingClientRect().top") < 20, "the controls")


def test_one_frame_is_a_graph(page):
    page.flame("--no-comm", page.make("one.folded", "main 1\n"))
    page.hover("main")
    assert page.tip()[0] == ["main"]


def grown(frames):
    """Stacks of that many frames, twenty levels deep, all of them to be seen."""
    lines, made, tower = [], 0, 0
    while made < frames:
        path = [f"tower_{tower}"]
        made += 1
        for level in range(20):
            path.append(f"level_{level}_{(tower * 7 + level) % 13}")
            made += 1
            lines.append(f"{';'.join(path)} {1 + (tower * 31 + level * 17) % 9}")
        tower += 1
    return "\n".join(lines) + "\n"


MEASURE = """
const done = arguments[0];
const rects = document.querySelectorAll('#view rect');
const painted = () => new Promise(act => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => act(performance.now());
    channel.port2.postMessage(0);
}));
const key = name => document.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
(async () => {
    const took = [];
    const time = async act => {
        await painted();
        const start = performance.now();
        act();
        took.push(await painted() - start);
    };
    for (let step = 0; step < 6; step++) {
        const moves = ['ArrowUp'].concat(Array(step * 9).fill('ArrowRight'));
        key('ArrowUp');
        moves.forEach(key);
        await time(() => key('Enter'));
        await time(() => key('0'));
    }
    done([rects.length, took.map(t => Math.round(10 * t) / 10)]);
})();
"""


def dense(frames):
    """Towers of a hundred frames, all of one width."""
    return "".join("main;" + ";".join([f"tower_{n}"] + [f"level_{d}" for d in range(99)]) + " 10\n" for n in range(frames // 100))


def measure_zoom(page):
    """Zooming in and out among many narrow frames, and among many that are all in sight."""
    every, said = [], []
    for stacks in (grown(50000), dense(50000)):
        page.flame("--no-comm", "--min-width", "0", page.make("grown.folded", stacks))
        count, took = page.browser.execute_async_script(MEASURE)
        assert count >= 50000, count
        took.sort()
        every += took
        said.append(f"zoom among {count} frames, ms until painted: median {took[len(took) // 2]}, most {took[-1]}; {took}")
    return sorted(every), "\n".join(said)


def test_fifty_thousand_frames_stay_usable(page):
    """A guard: the bench holds the limit of 100 ms."""
    for _ in range(3):  # what else the machine does only ever adds to a time
        took, said = measure_zoom(page)
        if took[-1] < 1000:
            return said
    raise AssertionError(said)


def bench_zooming_among_fifty_thousand_frames_takes_less_than_100_ms(page):
    for _ in range(5):  # what else the machine does only ever adds to a time
        took, said = measure_zoom(page)
        if took[len(took) // 2] < 100:
            return said
    raise AssertionError(said)
