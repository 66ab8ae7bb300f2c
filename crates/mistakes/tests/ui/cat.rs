use wengert::prelude::*;

fn main() {
    let x = Tensor::from([1.0, 2.0]);
    println!("{}", Tensor::cat(&[&x, &x], 0));
}
