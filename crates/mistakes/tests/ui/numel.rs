use wengert::prelude::*;

fn main() {
    println!("{}", Tensor::from([1.0, 2.0]).numel());
}
