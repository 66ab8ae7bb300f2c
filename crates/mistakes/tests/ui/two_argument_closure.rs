use wengert::prelude::*;

fn main() {
    let (x, y) = (Tensor::from(2.0), Tensor::from(3.0));
    println!("{:?}", grad(|x: &Tensor, y: &Tensor| x * y)(&x, &y));
}
