"""Pictures of control flow: what is drawn where."""

import subprocess


def draw(page, *arguments):
    path = page.folder / "cfg.svg"
    profile = page.folder / "code.prof"
    subprocess.run([page.tools / "make-code-profile", "x86", profile], check=True)
    page.run("cfg", "-o", str(path), *arguments, "compute", str(profile))
    page.open(path)


def boxes(page):
    return page.js("""return Array.from(document.querySelectorAll('.block'), block => {
        const box = block.querySelector('.box').getBoundingClientRect();
        const inside = Array.from(block.querySelectorAll('text')).every(text => {
            const seen = text.getBoundingClientRect();
            return seen.left >= box.left && seen.right <= box.right + 0.5 &&
                   seen.top >= box.top - 1 && seen.bottom <= box.bottom + 1;
        });
        return [box.left, box.top, box.right, box.bottom, inside]; })""")


def test_blocks_of_control_flow_hold_their_text_and_lie_apart(page):
    for arguments in ([], ["-M", "intel"], ["--color", "cycles"]):
        draw(page, *arguments)
        found = boxes(page)
        assert len(found) == 5, found
        for i, a in enumerate(found):
            assert a[4], f"text of block {i} leaves its box"
            for b in found[:i]:
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)


def test_control_flow_is_dark_where_the_system_is(page):
    colours = []
    for scheme in ("light", "dark"):
        page.emulate(color_scheme=scheme)
        draw(page)
        colours.append(page.js("return getComputedStyle(document.querySelector('.page')).fill"))
    assert colours == ["rgb(255, 255, 255)", "rgb(22, 24, 27)"], colours
