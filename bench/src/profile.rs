//! Where the time of a training step goes. The sum over operations stands beside the time of a step that is not measured, in turn with it.

use crate::step::{Mode, Place, find};
use crate::timing::{Rounds, in_turn, seconds, shown};
use std::path::Path;
use wengert::Device;
use wengert::view::json::{number, object, string};
use wengert::view::{Ceilings, Profile, profile};

/// Prints the profile of the step whose operations took the median time.
pub fn run(name: &str, mode: Mode, place: Place, duration: f64, trace: Option<&Path>, json: bool) {
    place.expect(mode, None);
    let workload = find(name);
    let rounds = Rounds { least: 9, most: 2001, seconds: duration };
    let (medians, mut profiles) = match mode {
        Mode::Eager => {
            let mut training = workload.start();
            measured(name, rounds, |is_measured| match is_measured {
                false => Turn::Plain(seconds(|| training.step())),
                true => Turn::Measured(profile(|| training.step()).1),
            })
        }
        Mode::Compiled => {
            let mut steps = workload.compiled_on(None, place.device(), place.precision());
            measured(name, rounds, |is_measured| match is_measured {
                false => Turn::Plain(seconds(|| {
                    steps.step();
                    // Work on a device goes on after a step returns.
                    steps.finish();
                })),
                true => Turn::Measured(steps.profiled_step()),
            })
        }
    };
    let [[step, _], [wall, operations]] = medians.map(|figures| figures.map(|seconds| seconds * 1e3));
    profiles.sort_by_key(Profile::total);
    let profile = profiles.swap_remove(profiles.len() / 2);
    // What is measured as a ceiling is the processor.
    let profile = if place.device() == Device::Cpu { profile.against(Ceilings::measure()) } else { profile };
    if let Some(path) = trace
        && let Err(error) = std::fs::write(path, profile.chrome_trace())
    {
        eprintln!("{}: {error}", path.display());
        std::process::exit(1);
    }
    if json {
        let fields = [
            ("bench", string("profile")),
            ("workload", string(name)),
            ("system", string(mode.system())),
            ("step_ms", number(step)),
            ("measured_step_ms", number(wall)),
            ("operations_ms", number(operations)),
            ("profile", profile.json()),
        ];
        println!("{}", object(&fields));
        return;
    }
    print!("{profile}");
    println!(
        "medians: operations {operations:.3} ms, the step around them {wall:.3} ms, a step that is not measured {step:.3} ms: \
         the operations are {:.3} of it",
        operations / step
    );
}

/// A step of one kind or the other.
enum Turn {
    Plain(f64),
    Measured(Profile),
}

/// The median seconds of a step that is not measured; those of a measured step and of its operations; and the profiles.
fn measured(name: &str, rounds: Rounds, mut step: impl FnMut(bool) -> Turn) -> ([[f64; 2]; 2], Vec<Profile>) {
    // The first steps trace, and take memory.
    for is_measured in [false, true, false] {
        step(is_measured);
    }
    let mut profiles = Vec::new();
    let medians = in_turn(&shown(name), rounds, 2, |system| match step(system == 1) {
        Turn::Plain(seconds) => [seconds, 0.0],
        Turn::Measured(profile) => {
            let figures = [profile.wall(), profile.total()].map(|time| time.as_secs_f64());
            profiles.push(profile);
            figures
        }
    });
    ([medians[0], medians[1]], profiles)
}
