use wengert::prelude::*;

fn main() {
    let pair = (Tensor::from(2.0), Tensor::from(3.0));
    let doubled = pair.map_leaves(|x: Tensor| x * 2.0);
    println!("{}", doubled.0);
}
