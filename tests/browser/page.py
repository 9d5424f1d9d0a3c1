"""A flame graph in a browser, seen as people see it: what is drawn where, what the details say.

Frames are named by their path below the root: "main;parse;scan".
"""

import json
import pathlib
import subprocess
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 20  # that something asked for takes at most, on a busy machine


def start_browser(driver, folder):
    options = Options()
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--window-size=1240,900", f"--user-data-dir={folder}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service(driver), options=options)
    browser.set_script_timeout(120)
    browser.set_page_load_timeout(120)
    return browser


class Page:
    """The picture that is open now."""

    def __init__(self, browser, culprit, tools, folder):
        self.browser, self.culprit, self.tools, self.folder = browser, culprit, tools, pathlib.Path(folder)

    # --- making and opening ---

    def make(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def profile(self, kind):
        path = self.folder / f"{kind}.prof"
        subprocess.run([self.tools / "make-profile", kind, path], check=True)
        return str(path)

    def run(self, *arguments):
        done = subprocess.run([self.culprit, *arguments], capture_output=True, text=True, cwd=self.folder)
        assert done.returncode == 0, f"culprit {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def report(self, *arguments):
        return json.loads(self.run("report", "--json", *arguments))

    def flame(self, *arguments, link="", form="svg"):
        """Draws with these arguments and opens the result."""
        path = self.folder / f"picture.{form}"
        self.run("flame", "-o", str(path), *(["--html"] if form == "html" else []), *arguments)
        self.open(path, link)
        return path

    def open(self, path, link=""):
        self.browser.get("about:blank")  # an address that differs in its link alone opens nothing
        self.browser.get_log("browser")
        self.browser.get(f"file://{path}{link}")
        return self

    def emulate(self, **features):
        """What the system prefers: color_scheme="dark"."""
        values = [{"name": "prefers-" + name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": values})

    def scripts(self, on):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})

    def window(self, width, height):
        self.browser.set_window_size(width, height)

    # --- doing ---

    def rect(self, path):
        return self.browser.find_element(By.CSS_SELECTOR, f'#view rect[data-i="{self.number(path)}"]')

    def hover(self, path):
        ActionChains(self.browser).move_to_element(self.rect(path)).perform()

    def click(self, path):
        ActionChains(self.browser).click(self.rect(path)).perform()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def button(self, label):
        for button in self.browser.find_elements(By.CSS_SELECTOR, ".bar button"):
            if button.text == label:
                button.click()
                return
        raise AssertionError(f"no button '{label}'")

    def search(self, text):
        self.press("/", text, Keys.ENTER)
        self.until(lambda: self.text("#matched") != "", "the total of matches")

    def until(self, true, what):
        WebDriverWait(self.browser, SECONDS, 0.02).until(lambda _: true(), f"waited {SECONDS} s for {what}")

    # --- looking ---

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def text(self, selector):
        return plain(self.browser.find_element(By.CSS_SELECTOR, selector).text)

    def tip(self):
        """The details box as lines of cells."""
        self.until(lambda: self.js("return document.querySelector('.tip.shown') !== null"), "the details box")
        lines = self.js("""return Array.from(document.querySelectorAll('.tip.shown > .tip-text > *')).flatMap(
            part => part.tagName === 'table' ? Array.from(part.children, row => Array.from(row.children, cell => cell.textContent))
                                             : [[part.textContent]])""")
        return [[plain(cell) for cell in line] for line in lines]

    def tip_row(self, name):
        for line in self.tip():
            if line[0] == name:
                return line[1:]
        raise AssertionError(f"no row '{name}' in {self.tip()}")

    def data(self):
        return self.js("return JSON.parse(document.getElementById('flame-data').textContent)")

    def paths(self):
        data = self.js("""const d = JSON.parse(document.getElementById('flame-data').textContent);
            return [d.frames.parent, d.frames.name.map(n => d.strings[n])]""")
        paths = []
        for i, (parent, name) in enumerate(zip(*data)):
            paths.append("" if i == 0 else f"{paths[parent]};{name}".lstrip(";"))
        return paths

    def number(self, path):
        paths = self.paths()
        assert path in paths, f"no frame '{path}' in {paths[:50]}"
        return paths.index(path)

    def place(self, path):
        """left, top, right, bottom in the window."""
        return self.js("const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]",
                       self.rect(path))

    def view(self):
        """The same of the area that frames are drawn in."""
        return self.js("""const v = document.getElementById('view'), r = document.getElementById('culprit-flame');
            const b = r.getBoundingClientRect(), n = name => Number(v.getAttribute(name));
            return [b.left + n('x'), b.top + n('y'), b.left + n('x') + n('width'), b.top + n('y') + n('height')]""")

    def link(self):
        return self.js("return location.hash")

    def errors(self):
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


def plain(text):
    """With ordinary spaces and minus signs, thousands together."""
    joined = text.replace("\u202f%", " %")
    return joined.replace("\u202f", "").replace("\u2212", "-").strip()


def driver_path():
    import shutil
    return shutil.which("chromedriver")


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="culprit-browser.")
