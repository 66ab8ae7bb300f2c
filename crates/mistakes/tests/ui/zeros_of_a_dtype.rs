use wengert::prelude::*;

fn main() {
    println!("{}", Tensor::zeros([2], DType::F32));
}
