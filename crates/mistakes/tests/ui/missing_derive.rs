use wengert::prelude::*;

struct Line {
    slope: Tensor,
    offset: Tensor,
}

fn main() {
    let line = Line { slope: Tensor::from(2.0), offset: Tensor::from(3.0) };
    let gradient = grad(|line: &Line| &line.slope * &line.offset)(&line);
    println!("{}", gradient.slope);
}
