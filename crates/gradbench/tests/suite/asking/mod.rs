//! Requests to modules, as an evaluation sends them.

use serde_json::{Value, json};
use wengert_gradbench::protocol::answer;

/// The answer to a request for one run.
pub fn ask(module: &str, function: &str, input: &Value) -> Value {
    let mut input = input.clone();
    if let Value::Object(fields) = &mut input {
        fields.insert("min_seconds".into(), json!(0));
    }
    let message =
        json!({"id": 7, "kind": "evaluate", "module": module, "function": function, "input": input, "description": ""});
    serde_json::from_str(&answer(message.to_string().as_bytes())).unwrap()
}

/// The output of a request that succeeds.
pub fn output(module: &str, function: &str, input: &Value) -> Value {
    let mut answer = ask(module, function, input);
    assert_eq!(answer["success"], true, "{module} {function}: {answer}");
    assert_eq!(answer["timings"].as_array().unwrap().len(), 1);
    answer["output"].take()
}
