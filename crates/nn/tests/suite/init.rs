//! Initial values have PyTorch's distributions: recorded bounds and standard deviations.

use wengert::nn::{Conv2d, Linear, init};
use wengert::prelude::*;

/// The draws of one case.
const DRAWS: u64 = 300;

fn draw(function: &str, arguments: &str, shape: &[usize], key: &mut Key) -> Option<Tensor> {
    let is_usual = arguments.starts_with("a=sqrt(5)");
    match function {
        "kaiming_uniform_" if is_usual && shape.len() == 2 => Some(Linear::new(shape[1], shape[0], key).weight),
        "kaiming_uniform_" if is_usual => Some(Conv2d::new(shape[1], shape[0], shape[2], key).weight),
        "kaiming_uniform_" if arguments.contains("fan_in") => Some(init::kaiming_uniform(shape, key)),
        "kaiming_normal_" if arguments.contains("fan_in") => Some(init::kaiming_normal(shape, key)),
        "xavier_uniform_" => Some(init::xavier_uniform(shape, key)),
        "xavier_normal_" => Some(init::xavier_normal(shape, key)),
        _ => None,
    }
}

#[test]
fn initial_values_have_the_recorded_bounds_and_deviations() {
    let record: serde_json::Value = serde_json::from_str(include_str!("../data/init.json")).unwrap();
    let mut compared = 0;
    for case in record["cases"].as_array().unwrap() {
        let (function, arguments) = (case["function"].as_str().unwrap(), case["arguments"].as_str().unwrap());
        let shape: Vec<usize> =
            case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        let expected = case["value"].as_f64().unwrap();
        let key = &mut Key::new(7);
        let draws: Option<Vec<f64>> = (0..DRAWS)
            .map(|_| draw(function, arguments, &shape, key))
            .map(|w| Some(w?.to_f64_vec()))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.concat());
        let Some(numbers) = draws else { continue };
        let count = numbers.len() as f64;
        let largest = numbers.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let deviation = (numbers.iter().map(|x| x * x).sum::<f64>() / count).sqrt();
        let mean = numbers.iter().sum::<f64>() / count;
        let what = format!("{function} {arguments} {shape:?}");
        assert!(mean.abs() < 5.0 * deviation / count.sqrt(), "{what}: mean {mean}");
        match case["kind"].as_str().unwrap() {
            "bound" => {
                assert!(largest <= expected && largest > 0.999 * expected, "{what}: {largest}, not {expected}");
                assert!((deviation * 3f64.sqrt() / expected - 1.0).abs() < 0.02, "{what}: not uniform");
            }
            _ => assert!((deviation / expected - 1.0).abs() < 0.02, "{what}: {deviation}, not {expected}"),
        }
        compared += 1;
    }
    assert_eq!(compared, 10);
}
