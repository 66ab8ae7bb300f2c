use wengert::prelude::*;

fn main() {
    let x = Tensor::from([1.0, 2.0]);
    let y = x * 2.0;
    println!("{} {}", x.sum(), y.sum());
}
