//! Calls as formulas.

/// `c = a · b`, or `c = matmul(a, b)`; the operation comes with its attributes.
pub(super) fn formula(result: &str, operation: &str, operands: &[String]) -> String {
    let symbol = match operation {
        "add" => "+",
        "sub" => "-",
        "mul" => "·",
        "div" => "/",
        _ => "",
    };
    let call = match operands {
        [x, y] if !symbol.is_empty() => format!("{x} {symbol} {y}"),
        [x] if operation == "neg" => format!("-{x}"),
        _ => format!("{operation}({})", operands.join(", ")),
    };
    if result.is_empty() { call } else { format!("{result} = {call}") }
}

/// The name of an operation without its attributes.
pub(super) fn name(operation: &str) -> &str {
    operation.split('[').next().unwrap_or(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_infix() {
        let text = |operation: &str, operands: &[&str]| {
            formula("y", operation, &operands.iter().map(|name| name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(text("mul", &["a", "b"]), "y = a · b");
        assert_eq!(text("neg", &["a"]), "y = -a");
        assert_eq!(text("sum[axes=[0]]", &["a"]), "y = sum[axes=[0]](a)");
        assert_eq!(formula("", "print", &[]), "print()");
        assert_eq!(name("sum[axes=[0]]"), "sum");
    }
}
