"""The dashboard of a running daemon in headless Chromium: light and dark, wide and narrow.

usage: dashboard.py URL [PICTURES]
  URL       where the daemon shows its state, such as http://127.0.0.1:9821
  PICTURES  a folder for light.png and dark.png

The browser is $CHROMIUM, else the first of chromium, chromium-browser and google-chrome that is installed. Ends with an
error where the page reports one, asks anyone else for anything, does not follow the daemon, or is wider than its window.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket

NAMES = ["chromium", "chromium-browser", "google-chrome"]
WIDE, NARROW = (1200, 860), (420, 900)
GROUNDS = {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 21, 26)"}
LOOK = """({
  phase: document.getElementById('phase').textContent,
  devices: document.querySelectorAll('#devices .device').length,
  jobs: [...document.querySelectorAll('#jobs tbody tr')].map(row => row.children[0].textContent),
  about: document.getElementById('about').textContent,
  ground: getComputedStyle(document.body).backgroundColor,
  overflows: document.documentElement.scrollWidth > innerWidth,
})"""


def browser():
    """The browser's path, or none."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A page of a browser that ends with it."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={self.folder.name}", "about:blank"], stderr=subprocess.PIPE, text=True
        )
        line = next(line for line in self.process.stderr if "DevTools listening on" in line)
        port = line.rsplit(":", 1)[1].split("/")[0]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request, timeout=30))
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], suppress_origin=True, timeout=60)
        self.number, self.asked, self.errors = 0, [], []
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            self.note(message)
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    def note(self, message):
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(parameters["exceptionDetails"].get("text"))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self.errors.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))

    def size(self, size):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)

    def look(self):
        return self.call("Runtime.evaluate", expression=LOOK, returnByValue=True)["result"]["value"]

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stderr.close()
        self.folder.cleanup()


def look_at(page, url, scheme, picture):
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.size(WIDE)
    page.call("Page.navigate", url=url)
    time.sleep(2)
    first = page.look()
    assert first["phase"] == "serving" and first["devices"] >= 1, first
    assert first["ground"] == GROUNDS[scheme] and not first["overflows"], first
    if picture:
        image = page.call("Page.captureScreenshot", format="png")["data"]
        picture.write_bytes(base64.b64decode(image))
    time.sleep(2.5)
    later = page.look()
    assert later["about"] != first["about"], f"the page does not follow: {later}"
    page.size(NARROW)
    time.sleep(0.5)
    assert not page.look()["overflows"], "wider than a narrow window"
    return first


def check(url, pictures=None):
    """Looks at the page; what it showed, or none where there is no browser."""
    program = browser()
    if program is None:
        print(f"SKIPPED: the dashboard is not looked at, for none of {', '.join(NAMES)} is installed", flush=True)
        return None
    page = Page(program)
    try:
        shown = [look_at(page, url, scheme, pictures and pictures / f"{scheme}.png") for scheme in GROUNDS]
        # The only thing that is not there is the icon that browsers ask for unasked.
        errors = [error for error in page.errors if "favicon.ico" not in error]
        assert not errors, errors
        strangers = [asked for asked in page.asked if not asked.startswith((url, "about:"))]
        assert not strangers, strangers
    finally:
        page.close()
    return shown


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    print(json.dumps(check(sys.argv[1].rstrip("/"), folder)))
