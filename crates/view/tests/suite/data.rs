//! Plots that are hard to draw.

use wengert_view::Plot;

/// Lines whose ranges are empty, extreme or not drawable, each with and without a logarithmic axis.
pub fn hard() -> Vec<(String, Plot)> {
    let (nan, infinity, max, min) = (f64::NAN, f64::INFINITY, f64::MAX, f64::MIN);
    let cases: [(&str, &[f64]); 16] = [
        ("no values", &[]),
        ("a single value", &[3.5]),
        ("a single zero", &[0.0]),
        ("a constant", &[7.0, 7.0, 7.0]),
        ("nothing finite", &[nan, infinity, -infinity]),
        ("gaps", &[1.0, nan, 2.0, 3.0, infinity, 2.5]),
        ("tiny values", &[1e-300, 3e-300, 2e-300]),
        ("subnormal values", &[5e-324, 1e-310, 0.0]),
        ("huge values", &[1e300, -1e300, 5e299]),
        ("all floats", &[min, max, 0.0]),
        ("the largest float", &[max]),
        ("tiny and huge values", &[5e-324, max]),
        ("values without a logarithm", &[-1.0, 0.0, -5.0]),
        ("some values with a logarithm", &[-1.0, 10.0, 0.0, 1000.0, 20.0]),
        ("rounding errors", &[1.0, 1.0 + f64::EPSILON, 1.0 - f64::EPSILON]),
        ("small differences of large values", &[1e9, 1e9 + 1e-2, 1e9 + 2e-2]),
    ];
    let mut plots: Vec<(String, Plot)> = Vec::new();
    for (name, values) in cases {
        let sideways: Vec<(f64, f64)> = values.iter().map(|&value| (value, value)).collect();
        let plot = Plot::new(name).values("by index", values).x_label("x").y_label("y");
        plots.push((format!("{name}, logarithmic"), plot.clone().log_y()));
        plots.push((format!("{name}, on both axes"), plot.clone().line("by itself", &sideways)));
        plots.push((name.to_string(), plot));
    }
    let far = [(1e9, 1.0), (1e9 + 1e-2, 2.0)];
    plots.push(("long labels below".to_string(), Plot::new("").line("far", &far)));
    plots.push(("no line".to_string(), Plot::new("")));
    plots.push(("no line, logarithmic".to_string(), Plot::new("").log_y()));
    let names = (0..60).fold(Plot::new("long ".repeat(99)), |plot, i| plot.values("name ".repeat(i), &[i as f64, 1.0]));
    plots.push(("long names".to_string(), names.x_label("x ".repeat(400)).y_label("y ".repeat(400))));
    let odd = "<&\"'>\u{0}\u{1b}\n\u{ffff}]]>";
    plots.push((
        "odd names".to_string(),
        Plot::new(odd).values(odd, &[1.0]).values(odd, &[2.0]).x_label(odd).y_label(odd),
    ));
    plots
}
