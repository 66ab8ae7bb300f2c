//! Whole conversations with the program.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use wengert_gradbench::protocol::serve;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wengert-gradbench"))
}

/// A running program.
struct Conversation {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Conversation {
    fn begin() -> Conversation {
        let mut child = program().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Conversation { child, to, from }
    }

    /// The answer to a line; the program has nothing else to read, so it has flushed.
    fn say(&mut self, line: &[u8]) -> Value {
        self.to.write_all(line).unwrap();
        self.to.write_all(b"\n").unwrap();
        self.to.flush().unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    fn send(&mut self, message: &Value) -> Value {
        self.say(message.to_string().as_bytes())
    }

    fn evaluate(&mut self, module: &str, function: &str, input: Value) -> Value {
        self.send(&json!({"id": 5, "kind": "evaluate", "module": module, "function": function, "input": input}))
    }

    /// Closes the input; returns the rest of the standard output, and all of the standard error.
    fn end(mut self) -> (String, String) {
        drop(self.to);
        let (mut rest, mut errors) = (String::new(), String::new());
        self.from.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(self.child.wait().unwrap().success());
        (rest, errors)
    }
}

fn assert_failure(answer: &Value, id: &Value, reason: &str) {
    let error = answer["error"].as_str().unwrap_or_else(|| panic!("{answer} should say {reason:?}"));
    assert_eq!((&answer["id"], &answer["success"]), (id, &json!(false)), "{answer}");
    assert!(error.contains(reason), "{error:?} should say {reason:?}");
    assert!(answer.get("output").is_none());
}

#[test]
fn the_session_of_hello_is_played() {
    let mut conversation = Conversation::begin();
    assert_eq!(
        conversation.send(&json!({"id": 0, "kind": "start", "eval": "hello"})),
        json!({"id": 0, "tool": "wengert"})
    );
    let define = json!({"id": 1, "kind": "define", "module": "hello"});
    assert_eq!(conversation.send(&define), json!({"id": 1, "success": true}));
    let (mut id, mut x) = (2, json!(1.0));
    for expected in [1.0, 2.0, 4.0, 8.0, 64.0, 128.0, 16384.0, 32768.0] {
        let function = if id % 4 == 2 { "square" } else { "double" };
        let evaluate = json!({"id": id, "kind": "evaluate", "module": "hello", "function": function, "input": x});
        let answer = conversation.send(&evaluate);
        assert_eq!((&answer["id"], &answer["success"]), (&json!(id), &json!(true)));
        assert!(answer["timings"][0]["nanoseconds"].is_u64() && answer["timings"][0]["name"] == "evaluate");
        assert_eq!(answer["timings"].as_array().unwrap().len(), 1);
        x = answer["output"].clone();
        assert_eq!(x, expected);
        let analysis = json!({"id": id + 1, "kind": "analysis", "of": id, "valid": true});
        assert_eq!(conversation.send(&analysis), json!({"id": id + 1}));
        id += 2;
    }
    assert_eq!(conversation.end(), (String::new(), String::new()));
}

#[test]
fn every_module_is_defined_and_others_are_not() {
    let mut conversation = Conversation::begin();
    let define = |name: &str| json!({"id": 1, "kind": "define", "module": name});
    for name in ["hello", "gmm", "ba", "ht", "lstm", "det", "kmeans", "llsq", "lse", "ode", "particle", "saddle"] {
        assert_eq!(conversation.send(&define(name))["success"], true, "{name}");
    }
    assert_failure(&conversation.send(&define("nothing")), &json!(1), "unknown module \"nothing\"");
    conversation.end();
}

#[test]
fn lines_that_are_no_requests_are_answered_and_the_conversation_goes_on() {
    let deep = "[".repeat(100_000);
    let lines: &[(&[u8], Value, &str)] = &[
        (b"", json!(null), "not a JSON object"),
        (b"hello", json!(null), "not a JSON object"),
        (b"[1, 2]", json!(null), "not a JSON object"),
        (b"{\"id\": 1, \"kind\": \"start\"", json!(null), "not a JSON object"),
        (b"{\"id\": 1, \"kind\": \"evaluate\", \"input\": NaN}", json!(null), "not a JSON object"),
        (b"{\"id\": 1, \"kind\": \"\xff\"}", json!(null), "not a JSON object"),
        (deep.as_bytes(), json!(null), "not a JSON object"),
        (b"{\"kind\": \"start\"}", json!(null), "the message has no id"),
        (b"{\"id\": \"1\", \"kind\": \"start\"}", json!(null), "id: invalid type"),
        (b"{\"id\": 1.5, \"kind\": \"start\"}", json!(null), "id: invalid type"),
        (b"{\"id\": 4}", json!(4), "the message has no kind"),
        (b"{\"id\": 4, \"kind\": 3}", json!(4), "kind: invalid type"),
        (b"{\"id\": 4, \"kind\": \"dance\"}", json!(4), "unknown kind \"dance\""),
        (b"{\"id\": 4, \"kind\": \"define\"}", json!(4), "the message has no module"),
        (b"{\"id\": 4, \"kind\": \"define\", \"module\": []}", json!(4), "module: invalid type"),
        (b"{\"id\": 4, \"kind\": \"evaluate\", \"module\": \"lse\"}", json!(4), "the message has no function"),
        (b"{\"id\": 4, \"kind\": \"evaluate\", \"module\": \"lse\", \"function\": \"primal\"}", json!(4), "no input"),
        (
            b"{\"id\": 4, \"kind\": \"evaluate\", \"module\": \"lse\", \"function\": \"primal\", \"input\": {\"x\": [1e999]}}",
            json!(4),
            "number out of range",
        ),
    ];
    let mut conversation = Conversation::begin();
    for (line, id, reason) in lines {
        assert_failure(&conversation.say(line), id, reason);
        assert_eq!(conversation.evaluate("hello", "square", json!(3))["output"], 9.0);
    }
    let (rest, errors) = conversation.end();
    let without_id = lines.iter().filter(|(_, id, _)| id.is_null()).count();
    assert_eq!((rest.as_str(), errors.lines().count()), ("", without_id), "{errors}");
}

/// A valid input, with some fields replaced.
fn with(mut input: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        input[name] = field.clone();
    }
    input
}

#[test]
fn inputs_that_cannot_be_are_refused_and_the_conversation_goes_on() {
    let llsq = json!({"x": [1.0, 2.0], "n": 3, "min_seconds": 0});
    let gmm = json!({
        "d": 2, "k": 1, "n": 1, "x": [[1, 2]], "m": 0, "gamma": 1, "alpha": [1], "mu": [[1, 2]], "q": [[1, 2]], "l": [[1]],
        "min_seconds": 0,
    });
    let ba = json!({"n": 1, "m": 1, "p": 10, "cam": vec![0.5; 11], "x": [9, 9, 9], "w": 1, "feat": [1, 1], "min_seconds": 0});
    let lstm = json!({
        "main_params": vec![vec![1.0; 4]; 2], "extra_params": vec![vec![1.0]; 3], "state": [[1], [1]], "sequence": [[1], [1]],
        "min_seconds": 0,
    });
    let kmeans = json!({"points": [[1, 2], [3, 4]], "centroids": [[1, 2]], "min_seconds": 0});
    let text = include_str!("../examples/ht.json");
    let ht = serde_json::from_str::<Value>(text).unwrap()["objective"]["input"].clone();
    let ht = with(ht, json!({"min_seconds": 0}));
    let model = |field: &str, value: Value| {
        let mut input = ht.clone();
        input["data"]["model"][field] = value;
        input
    };
    let data = |field: &str, value: Value| {
        let mut input = ht.clone();
        input["data"][field] = value;
        input
    };
    let lse = json!({"x": [1, 2], "min_seconds": 0});
    let ode = json!({"x": [1, 2], "s": 1, "min_seconds": 0});
    let right = [
        ("llsq", "gradient", &llsq),
        ("lse", "gradient", &lse),
        ("ode", "gradient", &ode),
        ("gmm", "jacobian", &gmm),
        ("ba", "jacobian", &ba),
        ("lstm", "jacobian", &lstm),
        ("kmeans", "dir", &kmeans),
        ("ht", "jacobian", &ht),
    ];
    let wrong = [
        ("hello", "square", json!("three"), "input: invalid type"),
        ("hello", "cube", json!(3), "unknown function \"cube\" of hello"),
        ("llsq", "primal", json!([1, 2]), "input: invalid"),
        ("llsq", "primal", json!({"n": 3}), "missing field `x`"),
        ("llsq", "primal", with(llsq.clone(), json!({"x": "none"})), "expected a sequence"),
        ("llsq", "primal", with(llsq.clone(), json!({"x": [1, null]})), "invalid type: null"),
        ("llsq", "primal", with(llsq.clone(), json!({"x": []})), "the length of x must be at least 1"),
        ("llsq", "primal", with(llsq.clone(), json!({"n": -3})), "invalid value: integer `-3`"),
        ("llsq", "gradient", with(llsq.clone(), json!({"n": 1})), "n must be at least 2"),
        ("llsq", "primal", with(llsq.clone(), json!({"n": 2.5})), "invalid type: floating point"),
        ("llsq", "primal", with(llsq.clone(), json!({"min_runs": -1})), "invalid value: integer `-1`"),
        ("llsq", "primal", with(llsq.clone(), json!({"min_seconds": -1})), "min_seconds is negative"),
        ("llsq", "primal", with(llsq.clone(), json!({"x": [1e300]})), "a number is not finite"),
        ("lse", "gradient", json!({"x": []}), "the length of x must be at least 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"d": 0})), "d must be at least 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"k": 0})), "k must be at least 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"n": 0})), "n must be at least 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"n": 2})), "x is 1 x 2, expected 2 x 2"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"l": [[]]})), "l is 1 x 0, expected 1 x 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"alpha": [1, 2]})), "alpha has 2 entries, expected 1"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"gamma": 0})), "gamma must be positive"),
        ("gmm", "objective", with(gmm.clone(), json!({"mu": [[1, 2], [3]]})), "rows of 2 and 1 numbers"),
        ("gmm", "objective", with(gmm.clone(), json!({"d": u64::MAX})), "x is 1 x 2"),
        ("gmm", "objective", with(gmm.clone(), json!({"q": [[1000, 2]]})), "a number is not finite"),
        ("gmm", "jacobian", with(gmm.clone(), json!({"q": [[1000, 2]]})), "a number is not finite"),
        ("ba", "objective", with(ba.clone(), json!({"n": 0})), "n must be at least 1"),
        ("ba", "objective", with(ba.clone(), json!({"p": u64::MAX})), "p must be at most"),
        ("ba", "objective", with(ba.clone(), json!({"cam": [1, 2]})), "invalid length 2"),
        ("ba", "jacobian", with(ba.clone(), json!({"p": 9})), "p must be at least 10"),
        ("lstm", "jacobian", with(lstm.clone(), json!({"sequence": [[1]]})), "at least 2 rows"),
        ("lstm", "jacobian", with(lstm.clone(), json!({"main_params": [[1, 1, 1, 1]]})), "two rows for each layer"),
        ("lstm", "jacobian", with(lstm.clone(), json!({"state": [[1]]})), "state is 1 x 1, expected 2 x 1"),
        ("det", "primal", json!({"A": [1, 2, 3], "ell": 2}), "A has 3 entries, expected 4"),
        ("det", "primal", json!({"A": [], "ell": 0}), "ell must be at least 1"),
        ("kmeans", "cost", with(kmeans.clone(), json!({"centroids": [[1]]})), "points is 2 x 2, expected 2 x 1"),
        ("kmeans", "cost", with(kmeans.clone(), json!({"centroids": []})), "the number of centroids"),
        ("kmeans", "dir", with(kmeans.clone(), json!({"centroids": [[1, 2], [9, 9]]})), "a number is not finite"),
        ("ode", "gradient", json!({"x": [1, 2], "s": 0}), "s must be at least 1"),
        ("ode", "gradient", json!({"x": [], "s": 1}), "the length of x must be at least 1"),
        ("ode", "gradient", json!({"x": [1, 2], "s": u64::MAX}), "s must be at most"),
        ("llsq", "gradient", json!({"x": [1, 2], "n": 1_000_000_000_000u64}), "n must be at most"),
        ("ode", "gradient", json!({"x": [1e300, 1e300, 1e300], "s": 1, "min_seconds": 0}), "a number is not finite"),
        ("ht", "jacobian", with(ht.clone(), json!({"theta": [1]})), "invalid length 1"),
        ("ht", "jacobian", with(ht.clone(), json!({"us": [[1, 1]]})), "us has 1 entries, expected 2"),
        ("ht", "objective", data("points", json!([])), "points has 0 entries, expected 2"),
        ("ht", "objective", data("correspondences", json!([0, 2])), "correspondences names triangle 2 of 2"),
        ("ht", "objective", model("triangles", json!([[0, 1, 2], [1, 2, 4]])), "triangles names vertex 4 of 4"),
        ("ht", "objective", model("parents", json!(vec![0; 22])), "parents: 0 does not come before bone 0"),
        ("ht", "objective", model("weights", json!([[1]])), "weights is 1 x 1, expected 4 x 22"),
        ("ht", "objective", model("bone_count", json!(21)), "bone_count is 21, expected 22"),
        // These three panic.
        ("saddle", "rr", json!({"start": [1e308, 1e308]}), "a gradient that is not finite"),
        ("saddle", "ff", json!({"start": [1e300, 1e300]}), "a value or a gradient that is not finite"),
        ("particle", "ff", json!({"w": 1e200}), "the particle does not land"),
    ];
    let mut conversation = Conversation::begin();
    for (module, function, input, reason) in wrong {
        assert_failure(&conversation.evaluate(module, function, input), &json!(5), reason);
        assert_eq!(conversation.evaluate("hello", "square", json!(3))["output"], 9.0);
    }
    for (module, function, input) in right {
        let answer = conversation.evaluate(module, function, input.clone());
        assert_eq!(answer["success"], true, "{module}: {answer}");
    }
    assert_eq!(conversation.end().0, "");
}

#[test]
fn functions_are_repeated_as_often_and_as_long_as_asked() {
    let mut conversation = Conversation::begin();
    let mut times = |repetition: Value| -> Vec<u64> {
        let input = with(json!({"x": [1, 2, 3]}), repetition);
        let answer = conversation.evaluate("lse", "gradient", input);
        let entries = answer["timings"].as_array().unwrap();
        assert!(entries.iter().all(|entry| entry["name"] == "evaluate"));
        entries.iter().map(|entry| entry["nanoseconds"].as_u64().unwrap()).collect()
    };
    assert_eq!(times(json!({"min_runs": 17, "min_seconds": 0})).len(), 17);
    assert_eq!(times(json!({"min_runs": 0, "min_seconds": 0})).len(), 1);
    for (repetition, seconds) in [(json!({"min_runs": 3, "min_seconds": 0.02}), 0.02), (json!({}), 1.0)] {
        let times = times(repetition);
        let (last, before) = times.split_last().unwrap();
        let sum = before.iter().sum::<u64>();
        assert!(((sum + last) as f64) >= seconds * 1e9 && (sum as f64) < seconds * 1e9, "{sum} {last}");
    }
    conversation.end();
}

#[test]
fn a_long_line_and_a_last_line_without_an_end_are_answered() {
    let mut conversation = Conversation::begin();
    let x: Vec<f64> = (0..100_000).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let answer = conversation.evaluate("lse", "gradient", json!({"x": x, "min_seconds": 0}));
    let gradient: Vec<f64> = answer["output"].as_array().unwrap().iter().map(|slope| slope.as_f64().unwrap()).collect();
    assert_eq!(gradient.len(), x.len());
    assert!((gradient.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    conversation.to.write_all(b"{\"id\": 8, \"kind\": \"analysis\"}").unwrap();
    assert_eq!(conversation.end().0, "{\"id\":8}\n");
}

/// The bytes written, and how many had been flushed each time.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    flushed: Vec<usize>,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed.push(self.bytes.len());
        Ok(())
    }
}

#[test]
fn every_line_is_flushed() {
    let mut written = Written::default();
    let lines = b"{\"id\": 1, \"kind\": \"analysis\"}\nnothing\n{\"id\": 3, \"kind\": \"analysis\"}\n";
    serve(&lines[..], &mut written).unwrap();
    let ends: Vec<usize> = (1..=written.bytes.len()).filter(|end| written.bytes[end - 1] == b'\n').collect();
    assert_eq!((ends.len(), ends), (3, written.flushed));
}

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_table_has_a_row_for_each_workload() {
    let output = run(&["--table", "--small", "det", "lse"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["eval"].as_str().unwrap(), row["workload"].as_str().unwrap())).collect();
    let lse = ["n=2500", "n=5000", "n=10000", "n=20000"].map(|name| ("lse", name));
    assert_eq!(names, [["5", "6", "7"].map(|name| ("det", name)).as_slice(), &lse].concat());
    for row in rows {
        let (primal, derivative) = (row["primal_ns"].as_f64().unwrap(), row["derivative_ns"].as_f64().unwrap());
        assert!(primal > 0.0 && (row["ratio"].as_f64().unwrap() / (derivative / primal) - 1.0).abs() < 1e-12, "{row}");
    }
}

#[test]
fn wrong_arguments_end_with_an_error() {
    for arguments in [&["--fast"][..], &["gmm"], &["--small"], &["--table", "--slow"]] {
        let output = run(arguments);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("Usage"));
    }
    for (module, reason) in [("nothing", "unknown module \"nothing\""), ("hello", "module \"hello\" has no workloads")]
    {
        let output = run(&["--table", module]);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(String::from_utf8(output.stderr).unwrap().contains(reason), "{module}");
    }
    for help in ["--help", "-h"] {
        let output = run(&[help]);
        assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("--table"));
    }
}
