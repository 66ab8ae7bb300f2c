use wengert::prelude::*;

fn main() {
    let x: f32 = Tensor::from([1.0f32, 2.0]).sum().item();
    println!("{x}");
}
