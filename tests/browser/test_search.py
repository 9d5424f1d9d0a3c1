"""Search and its total."""

from selenium.webdriver.common.keys import Keys

from test_zoom import draw


def matched(page):
    return page.text("#matched")


def test_the_total_counts_a_match_below_a_match_once(page):
    draw(page)
    page.search("walk")
    # 120 of 1125 are below walk, however often walk calls walk
    assert matched(page) == "Matched: 10.67 % of samples (120), 3 frames", matched(page)


def test_the_total_is_that_of_the_report(page):
    page.flame("--no-comm", page.profile("efficiency"))
    page.search("walk")
    rows = page.report("--inclusive", page.profile("efficiency"))["rows"]
    share = [row for row in rows if row["procedure"] == "walk"][0]["inclusive"][0]["percent"]
    assert matched(page).startswith(f"Matched: {share:.2f} % of cycles"), (matched(page), share)


def test_frames_that_match_stay_bright(page):
    draw(page)
    page.search("parse")
    dim = page.js("""return Array.from(document.querySelectorAll('#frames rect'), r =>
        [r.classList.contains('dim'), Number(r.getAttribute('data-i'))])""")
    bright = {i for is_dim, i in dim if not is_dim}
    assert bright == {page.number("main;parse")}, bright


def test_a_search_within_a_zoom_says_both_shares(page):
    draw(page)
    page.click("main;parse")
    page.search("hash")
    assert matched(page) == "Matched: 17.78 % of samples (200), 1 frame; 33.33 % of what is zoomed", matched(page)


def test_an_expression_can_be_searched(page):
    draw(page)
    page.search("/^(scan|hash)$/")
    assert matched(page).endswith("2 frames"), matched(page)


def test_a_wrong_expression_is_said(page):
    draw(page)
    page.search("/(/")
    assert matched(page) == "not a valid expression", matched(page)


def test_capital_letters_must_match(page):
    draw(page)
    page.search("Parse")
    assert matched(page) == "Matched: 0 % of samples (0), 0 frames", matched(page)


def test_a_search_can_be_linked_to(page):
    draw(page)
    page.search("copy user")
    assert page.link() == "#search=copy%20user", page.link()
    draw(page, link="#frame=main;walk&search=walk")
    page.until(lambda: "3 frames" in matched(page), "the link's search")
    assert "100 % of what is zoomed" in matched(page), matched(page)


def test_n_goes_from_match_to_match(page):
    draw(page)
    page.search("walk")
    first = page.text("#details")
    page.press("n", "n")
    page.press("n")
    assert page.text("#details") == first, (first, page.text("#details"))


def test_escape_ends_the_search(page):
    draw(page)
    page.search("walk")
    page.press(Keys.ESCAPE)
    assert matched(page) == ""
    assert page.js("return document.querySelectorAll('#frames rect.dim').length") == 0
