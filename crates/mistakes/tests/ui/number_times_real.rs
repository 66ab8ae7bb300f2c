use wengert::scalar::Real;

fn double<T: Real>(x: T) -> T {
    2.0 * x
}

fn main() {
    println!("{}", double(3.0));
}
