//! Times of whole training steps, and the losses that prove they do the work.

use crate::workloads::{self, Workload};
use std::time::{Duration, Instant};

fn find(name: &str) -> Workload {
    let mut all = workloads::all();
    let names: Vec<&str> = all.iter().map(|workload| workload.name).collect();
    match names.iter().position(|known| *known == name) {
        Some(position) => all.swap_remove(position),
        None => {
            eprintln!("there is no workload '{name}'; there are {}", names.join(", "));
            std::process::exit(2);
        }
    }
}

/// The median and the fastest step of a run of `seconds`, at least ten steps.
pub fn run(name: &str, seconds: f64, json: bool) {
    let mut training = find(name).start();
    let start = Instant::now();
    training.step();
    let first = milliseconds(start.elapsed());
    for _ in 0..4 {
        training.step();
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds || times.len() < 10 {
        let start = Instant::now();
        training.step();
        times.push(milliseconds(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    let (median, fastest, count) = (times[times.len() / 2], times[0], times.len());
    if json {
        println!(
            r#"{{"workload":"{name}","system":"wengert-eager","median_ms":{median:.4},"min_ms":{fastest:.4},"n":{count},"compile_ms":{first:.4}}}"#
        );
    } else {
        println!("{name}: median {median:.3} ms, fastest {fastest:.3} ms of {count} steps, first {first:.3} ms");
    }
}

/// Ten steps from closed-form weights and data.
pub fn losses(name: &str, json: bool) {
    let [first, last, norm] = find(name).start().ten_steps();
    if json {
        println!(
            r#"{{"workload":"{name}","system":"wengert-eager","loss_1":{first:e},"loss_10":{last:e},"grad_norm_10":{norm:e}}}"#
        );
    } else {
        println!("{name}: loss {first} at first, {last} at the tenth step, gradient norm {norm}");
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
