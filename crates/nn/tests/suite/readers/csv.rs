//! Tables.

use super::{folder, message};
use wengert::nn::data::{Csv, Header};
use wengert::prelude::*;

fn names(csv: &Csv) -> Vec<&str> {
    csv.names.iter().flatten().map(String::as_str).collect()
}

#[test]
fn headers_are_recognised_demanded_or_denied() {
    let csv = Csv::parse("a, b ,c\n1,2,3\n").unwrap();
    assert_eq!((names(&csv), &csv.table), (vec!["a", "b", "c"], &Tensor::from([[1.0, 2.0, 3.0]])));
    let csv = Csv::parse("1,2\n3,4").unwrap();
    assert_eq!((csv.names, csv.table), (None, Tensor::from([[1.0, 2.0], [3.0, 4.0]])));
    let csv = Csv::options().header(Header::Yes).parse("1990,2000\n3,4\n").unwrap();
    assert_eq!((names(&csv), &csv.table), (vec!["1990", "2000"], &Tensor::from([[3.0, 4.0]])));
    let only_a_header = Csv::parse("a,b\n").unwrap();
    assert_eq!(only_a_header.table.shape(), [0, 2]);
    let error = message(Csv::options().header(Header::No).parse("a,1\n"));
    assert_eq!(error, "line 1, column 1: \"a\" is not a number");
}

#[test]
fn quotes_line_ends_and_blank_lines_are_those_of_spreadsheets() {
    let text = "\u{feff}\"first, \"\"quoted\"\"\",\"two\nlines\"\r\n\r\n\" 1.5 \",-2e3\r\n\n3,inf";
    let csv = Csv::parse(text).unwrap();
    assert_eq!(names(&csv), ["first, \"quoted\"", "two\nlines"]);
    assert_eq!(csv.table, Tensor::from([[1.5, -2000.0], [3.0, f64::INFINITY]]));
    // The line ends of old spreadsheets.
    assert_eq!(Csv::parse("1,2\r3,4\r").unwrap().table, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    assert_eq!(message(Csv::parse("\"a\nb\",c\n1,x\n")), "line 3, column 2 (`c`): \"x\" is not a number");
}

#[test]
fn columns_are_chosen_by_name_or_position() {
    let text = "name|x|y\nfirst|1|2\nsecond|3|4\n";
    let read = Csv::options().delimiter('|');
    let csv = read.clone().columns(["y", "x"]).parse(text).unwrap();
    assert_eq!((names(&csv), &csv.table), (vec!["y", "x"], &Tensor::from([[2.0, 1.0], [4.0, 3.0]])));
    let csv = read.clone().columns([2]).parse(text).unwrap();
    assert_eq!((names(&csv), &csv.table), (vec!["y"], &Tensor::from([[2.0], [4.0]])));
    // A text in a column that is not chosen does not make a header.
    let csv = read.clone().columns([1]).parse("first|1|2\n").unwrap();
    assert_eq!((csv.names, csv.table), (None, Tensor::from([[1.0]])));
    assert_eq!(message(read.clone().columns(["z"]).parse(text)), "there is no column `z` in the header");
    assert_eq!(message(read.clone().columns([3]).parse(text)), "there is no column 3, only 3 columns");
    assert_eq!(message(read.clone().columns(["x"]).parse("x|x\n")), "there are several columns `x` in the header");
    let error = message(read.columns(["x"]).header(Header::No).parse(text));
    assert_eq!(error, "there is no column `x`, because there is no header");
}

#[test]
fn errors_name_the_path_the_line_and_the_column() {
    assert_eq!(message(Csv::parse("")), "the table is empty");
    assert_eq!(message(Csv::parse("a,b\n1,2\n\n3\n")), "line 4 has 1 fields, the first row has 2");
    assert_eq!(message(Csv::parse("a,b\n1,2\n3,4,5\n")), "line 3 has 3 fields, the first row has 2");
    assert_eq!(message(Csv::parse("a,b\n1,\n")), "line 2, column 2 (`b`): \"\" is not a number");
    assert_eq!(message(Csv::parse("1,\"2\n")), "line 1, column 2: the quote is not closed");
    assert_eq!(message(Csv::parse("1\n\"2\"3\n")), "line 2, column 1: text after the closing quote");
    assert!(message(Csv::parse(&",".repeat(2 << 20))).contains("more than 1048576 columns"));
    let error = Csv::options().delimiter('"').parse("1").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Argument);

    let folder = folder("csv");
    let path = folder.join("table.csv");
    std::fs::write(&path, "a\n1\nx\n").unwrap();
    let shown = path.display();
    assert_eq!(message(Csv::read(&path)), format!("{shown}: line 3, column 1 (`a`): \"x\" is not a number"));
    std::fs::write(&path, b"a\n1\n\xff\n").unwrap();
    assert_eq!(message(Csv::read(&path)), format!("{shown}: line 3 is not UTF-8"));
    std::fs::remove_file(&path).unwrap();
    assert!(message(Csv::read(&path)).starts_with(&format!("{shown}: ")));
    std::fs::remove_dir_all(folder).unwrap();
}
