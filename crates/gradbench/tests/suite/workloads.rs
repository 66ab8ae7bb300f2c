//! The workloads of the table.

use super::asking::output;
use wengert_gradbench::modules::MODULES;
use wengert_gradbench::random::Random;

#[test]
fn the_first_workload_of_each_module_is_accepted() {
    for module in MODULES {
        let workloads = (module.workloads)();
        assert_eq!(workloads.is_empty(), module.name == "hello");
        for workload in workloads.iter().take(1) {
            let input = (workload.input)(&mut Random::new(1));
            for (name, _) in module.functions {
                output(module.name, name, &input);
            }
        }
    }
}

#[test]
fn workloads_are_those_of_the_benchmark() {
    let counts: Vec<(&str, usize)> = MODULES.iter().map(|module| (module.name, (module.workloads)().len())).collect();
    let expected = [
        ("hello", 0),
        ("llsq", 11),
        ("lse", 10),
        ("gmm", 25),
        ("ba", 14),
        ("ht", 12),
        ("lstm", 9),
        ("det", 7),
        ("kmeans", 12),
        ("ode", 9),
        ("particle", 1),
        ("saddle", 1),
    ];
    assert_eq!(counts, expected);
    let gmm: Vec<String> = (MODULES[3].workloads)().into_iter().map(|workload| workload.name).collect();
    assert_eq!(gmm[..4], ["2_5_1000", "2_10_1000", "2_25_1000", "10_5_1000"]);
}
