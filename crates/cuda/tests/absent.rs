//! What a machine says that has the backend, and perhaps no GPU.

use wengert::prelude::*;
use wengert_cuda as _;

#[test]
fn a_missing_driver_or_gpu_is_an_error_with_a_suggestion() {
    let x = Tensor::from([1.0f32, 2.0]);
    for (device, must_fail) in [(Device::Cuda(0), false), (Device::Cuda(1 << 20), true)] {
        match x.try_to(device) {
            Ok(there) => assert!(!must_fail && there.device() == device && there.to(Device::Cpu) == x),
            Err(error) => {
                assert_eq!(error.kind(), &ErrorKind::Device);
                assert!(error.suggestion().is_some(), "{error}");
                assert!(!error.to_string().contains("feature"), "the backend is there: {error}");
                let error = catch(|| compile(|x: &Tensor| x * 2.0).on(device)).err().expect("it fails here too");
                assert!(error.line().is_some_and(|line| line.to_string().contains("absent.rs")), "{error}");
            }
        }
    }
}
