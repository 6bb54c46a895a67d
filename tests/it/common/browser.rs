//! Chromium without a window, over the DevTools protocol: messages of JSON that end in a zero byte,
//! to its file descriptor 3 and from 4.

use super::{Scratch, have};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Value,
    last: u64,
    /// Addresses that were asked for.
    asked: Vec<String>,
    /// Exceptions, messages of the console and refusals of the page's policy.
    problems: Vec<String>,
}

/// A view is shown.
const DRAWN: &str = "document.readyState === 'complete' && document.querySelector('main > section:not([hidden])') !== null";

const PATIENCE: Duration = Duration::from_secs(60);

impl Browser {
    /// None, with a word why, where Chromium is not installed.
    pub fn start(scratch: &Scratch) -> Option<Browser> {
        if !have("chromium") {
            return None;
        }
        // The shell gives the two pipes the numbers that Chromium wants. It runs without its
        // sandbox, for root has none: the page is ours.
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .args([
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--window-size=1400,900",
            ])
            .arg(format!("--user-data-dir={}", scratch.path("browser").display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let to = child.stdin.take().expect("piped");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice(&message) {
                    let _ = send.send(value);
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            session: Value::Null,
            last: 0,
            asked: Vec::new(),
            problems: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).and_then(|()| self.to.flush()).expect("Chromium listens");
        let id = self.last;
        loop {
            let answer = self.next().unwrap_or_else(|| panic!("no answer to {method}"));
            if answer["id"] == id {
                // A page that is left while it is asked has no answer.
                let left = answer["error"]["message"].as_str().is_some_and(|why| {
                    why.contains("navigated or closed") || why.contains("context was destroyed")
                });
                if left && method == "Runtime.evaluate" {
                    return Value::Null;
                }
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; events are noted.
    fn next(&mut self) -> Option<Value> {
        let message = self.from.recv_timeout(PATIENCE).ok()?;
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.asked.push(params["request"]["url"].as_str().unwrap_or("?").to_owned());
            }
            Some("Runtime.exceptionThrown") => {
                self.problems.push(params["exceptionDetails"].to_string());
            }
            Some("Runtime.consoleAPICalled") => self.problems.push(params["args"].to_string()),
            Some("Log.entryAdded") => self.problems.push(params["entry"]["text"].to_string()),
            _ => {}
        }
        Some(message)
    }

    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        self.wait(&format!("location.protocol === 'file:' && {DRAWN}"));
    }

    /// The window is so large from now on.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn reload(&mut self) {
        self.run("window.before = true");
        self.call("Page.reload", json!({}));
        self.wait(&format!("!window.before && {DRAWN}"));
    }

    fn value(&mut self, script: &str) -> Value {
        let result =
            self.call("Runtime.evaluate", json!({ "expression": script, "returnByValue": true }));
        assert!(result["exceptionDetails"].is_null(), "{script}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    pub fn run(&mut self, script: &str) {
        self.value(&format!("{{ {script} }} null"));
    }

    pub fn number(&mut self, script: &str) -> f64 {
        self.value(script).as_f64().unwrap_or_else(|| panic!("{script} is not a number"))
    }

    pub fn text(&mut self, script: &str) -> String {
        self.value(script).as_str().unwrap_or_else(|| panic!("{script} is not a text")).to_owned()
    }

    /// Waits until a script says true.
    pub fn wait(&mut self, script: &str) {
        let start = Instant::now();
        // While a page loads there may be nothing to ask.
        while self.call("Runtime.evaluate", json!({ "expression": script, "returnByValue": true }))
            ["result"]["value"]
            != true
        {
            assert!(start.elapsed() < PATIENCE, "never: {script}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Lets the page draw.
    fn settle(&mut self) {
        let script = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))";
        self.call("Runtime.evaluate", json!({ "expression": script, "awaitPromise": true }));
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), buttons: u32) {
        let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", params);
    }

    fn click_point(&mut self, at: (f64, f64)) {
        self.mouse("mouseMoved", at, 0);
        self.mouse("mousePressed", at, 1);
        self.mouse("mouseReleased", at, 0);
        self.settle();
    }

    /// Left, top, width, height of an element that a script gives.
    fn place(&mut self, element: &str) -> [f64; 4] {
        let script = format!(
            "(r => [r.left, r.top, r.width, r.height])(({element}).getBoundingClientRect())"
        );
        let value = self.value(&script);
        [0, 1, 2, 3].map(|i| value[i].as_f64().unwrap_or_else(|| panic!("{element} is nowhere")))
    }

    /// Clicks the middle of the element that a script gives.
    pub fn click_on(&mut self, element: &str) {
        let [x, y, w, h] = self.place(element);
        self.click_point((x + w / 2.0, y + h / 2.0));
    }

    pub fn click(&mut self, selector: &str) {
        self.click_on(&format!("document.querySelector('{selector}')"));
    }

    /// Clicks a point within an element.
    pub fn click_at(&mut self, selector: &str, (dx, dy): (f64, f64)) {
        let [x, y, ..] = self.place(&format!("document.querySelector('{selector}')"));
        self.click_point((x + dx, y + dy));
    }

    /// Drags within an element.
    pub fn drag(&mut self, selector: &str, from: (f64, f64), to: (f64, f64)) {
        let [x, y, ..] = self.place(&format!("document.querySelector('{selector}')"));
        self.mouse("mouseMoved", (x + from.0, y + from.1), 0);
        self.mouse("mousePressed", (x + from.0, y + from.1), 1);
        for i in 1..=4 {
            let share = f64::from(i) / 4.0;
            self.mouse(
                "mouseMoved",
                (x + from.0 + (to.0 - from.0) * share, y + from.1 + (to.1 - from.1) * share),
                1,
            );
        }
        self.mouse("mouseReleased", (x + to.0, y + to.1), 0);
        self.settle();
    }

    /// Clicks a slider at a share of its width.
    pub fn slide(&mut self, selector: &str, share: f64) {
        let [x, y, w, h] = self.place(&format!("document.querySelector('{selector}')"));
        self.click_point((x + 1.0 + (w - 2.0) * share, y + h / 2.0));
    }

    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
        self.settle();
    }

    /// Presses a key, by its name or the character that it types.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut params = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        if key.len() == 1 {
            params["text"] = key.into();
        }
        self.call("Input.dispatchKeyEvent", params);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code }),
        );
        self.settle();
    }

    /// What was asked for since the start.
    pub fn requests(&mut self) -> Vec<String> {
        self.settle();
        self.asked.clone()
    }

    /// No exception, nothing on the console, no refused request.
    pub fn no_problems(&mut self) {
        self.settle();
        assert!(self.problems.is_empty(), "{:?}", self.problems);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
