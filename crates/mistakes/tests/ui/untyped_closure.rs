use wengert::prelude::*;

fn main() {
    let x = Tensor::from(2.0);
    println!("{}", grad(|x| x.sin())(&x));
}
