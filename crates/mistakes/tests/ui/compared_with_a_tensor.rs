use wengert::prelude::*;

fn main() {
    let (x, y) = (Tensor::from([1.0, -2.0]), Tensor::zeros([2]));
    println!("{}", &x < &y);
}
