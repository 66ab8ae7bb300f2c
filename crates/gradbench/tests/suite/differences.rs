//! Compares the derivatives of every module with finite differences, at random inputs.

use super::asking::output;
use serde_json::{Value, json};
use wengert_gradbench::random::Random;

/// All numbers of a tree, in order.
fn numbers(tree: &Value) -> Vec<f64> {
    match tree {
        Value::Array(entries) => entries.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// The paths of all numbers under a field, in order.
fn places(input: &Value, field: &str) -> Vec<String> {
    match input.pointer(field).unwrap() {
        Value::Array(entries) => (0..entries.len()).flat_map(|i| places(input, &format!("{field}/{i}"))).collect(),
        _ => vec![field.into()],
    }
}

/// A function of a module.
struct Primal<'a> {
    module: &'a str,
    function: &'a str,
    input: &'a Value,
}

impl Primal<'_> {
    /// Its values when the number at a path is changed.
    fn moved(&self, place: &str, change: f64) -> Vec<f64> {
        let mut input = self.input.clone();
        let number = input.pointer_mut(place).unwrap();
        *number = json!(number.as_f64().unwrap() + change);
        let found = output(self.module, self.function, &input);
        match self.module {
            "ba" => {
                [&found["reproj_error"]["elements"], &found["w_err"]["element"]].into_iter().flat_map(numbers).collect()
            }
            _ => numbers(&found),
        }
    }

    /// The derivatives of its values by a number, by fourth-order differences.
    fn slopes(&self, place: &str) -> Vec<f64> {
        let h = 1e-3;
        let [a, b, c, d] = [h, -h, 2.0 * h, -2.0 * h].map(|change| self.moved(place, change));
        (0..a.len()).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h)).collect()
    }
}

fn assert_close(what: &str, found: f64, expected: f64) {
    let tolerance = 1e-7 * (1.0 + expected.abs());
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
}

/// Compares a gradient, given in the order of the numbers of some fields, with differences of the last value.
fn check(module: &str, primal: &str, derivative: &str, input: &Value, fields: &[&str]) {
    let gradient = output(module, derivative, input);
    let gradient = match &gradient {
        Value::Object(named) => fields.iter().flat_map(|field| numbers(&named[&field[1..]])).collect(),
        list => numbers(list),
    };
    let places: Vec<String> = fields.iter().flat_map(|field| places(input, field)).collect();
    assert_eq!(gradient.len(), places.len(), "{module}");
    assert!(gradient.iter().any(|slope| slope.abs() > 1e-2), "{module}: {gradient:?} shows nothing");
    let primal = Primal { module, function: primal, input };
    for (place, slope) in places.iter().zip(gradient) {
        assert_close(&format!("{module} by {place}"), slope, *primal.slopes(place).last().unwrap());
    }
}

#[test]
fn llsq_and_lse_agree_with_differences() {
    let random = &mut Random::new(1);
    check("llsq", "primal", "gradient", &json!({"x": random.normal(4), "n": 7}), &["/x"]);
    // Large enough for several parts of the sum.
    check("llsq", "primal", "gradient", &json!({"x": random.normal(2), "n": 40_000}), &["/x"]);
    // Also for one number, and for a tie of the largest two.
    let sizes = [1, 9].map(|n| random.normal(n));
    for x in [&sizes[0], &sizes[1], &vec![1.0, 3.0, 3.0]] {
        check("lse", "primal", "gradient", &json!({"x": x}), &["/x"]);
    }
}

#[test]
fn gmm_agrees_with_differences() {
    let random = &mut Random::new(2);
    for (d, k, n, m, gamma) in
        [(3, 2, 5, 2, 0.7), (1, 3, 4, 0, 1.3), (2, 1, 3000, 0, 1.0), (4, 3, 1, 1, 0.5), (1, 1, 1, 0, 1.0)]
    {
        let input = json!({
            "d": d, "k": k, "n": n, "x": random.normal_rows(n, d), "m": m, "gamma": gamma, "alpha": random.normal(k),
            "mu": random.uniform_rows(k, d), "q": random.normal_rows(k, d), "l": random.normal_rows(k, d * (d - 1) / 2),
        });
        check("gmm", "objective", "jacobian", &input, &["/alpha", "/mu", "/q", "/l"]);
    }
}

#[test]
fn lstm_agrees_with_differences() {
    let random = &mut Random::new(3);
    let (layers, width) = (2, 3);
    let input = json!({
        "main_params": random.normal_rows(2 * layers, 4 * width), "extra_params": random.normal_rows(3, width),
        "state": random.normal_rows(2 * layers, width), "sequence": random.uniform_rows(5, width),
    });
    check("lstm", "objective", "jacobian", &input, &["/main_params", "/extra_params"]);
}

#[test]
fn det_agrees_with_differences() {
    let random = &mut Random::new(4);
    for ell in 1..=5 {
        check("det", "primal", "gradient", &json!({"A": random.normal(ell * ell), "ell": ell}), &["/A"]);
    }
}

#[test]
fn det_of_a_triangle_is_the_product_of_its_diagonal() {
    for ell in 1..=6 {
        let entry = |(row, column): (usize, usize)| if row > column { 0 } else { 2 + row + 3 * (column - row) };
        let places = (0..ell).flat_map(|row| (0..ell).map(move |column| (row, column)));
        let input = json!({"A": places.map(entry).collect::<Vec<_>>(), "ell": ell});
        assert_eq!(output("det", "primal", &input), (2..2 + ell).product::<usize>() as f64);
    }
}

#[test]
fn ode_agrees_with_differences() {
    let random = &mut Random::new(5);
    for (n, s) in [(1, 1), (1, 3), (4, 1), (5, 2), (6, 3)] {
        let x: Vec<f64> = random.uniform(n).iter().map(|x| 1.0 + x).collect();
        check("ode", "primal", "gradient", &json!({"x": x, "s": s}), &["/x"]);
    }
}

#[test]
fn ba_agrees_with_differences() {
    let random = &mut Random::new(6);
    for axis in [random.normal(3), vec![1e-2, -2e-2, 3e-2]] {
        let camera = [axis, random.normal(3), vec![3.0], random.normal(2), vec![0.1, 0.02]].concat();
        let input = json!({
            "n": 2, "m": 3, "p": 10, "cam": camera, "x": [3.0, -4.0, 9.0], "w": 0.7, "feat": random.normal(2),
        });
        let jacobian = output("ba", "jacobian", &input);
        let values = numbers(&jacobian["vals"]);
        let primal = Primal { module: "ba", function: "objective", input: &input };
        for (column, place) in ["/cam", "/x", "/w"].into_iter().flat_map(|field| places(&input, field)).enumerate() {
            let slopes = primal.slopes(&place);
            assert_close(&place, values[column], slopes[0]);
            assert_close(&place, values[15 + column], slopes[1]);
            assert_close(&place, if column == 14 { values[30] } else { 0.0 }, slopes[2]);
        }
    }
}

#[test]
fn a_camera_that_is_not_turned_has_the_derivatives_of_the_limit() {
    let camera = |turn: f64| vec![turn, -turn, turn, 0.1, 0.2, 0.3, 3.0, 0.5, 0.6, 0.1, 0.02];
    let at = |turn: f64| {
        let input =
            json!({"n": 1, "m": 1, "p": 10, "cam": camera(turn), "x": [1.0, 2.0, 3.0], "w": 0.7, "feat": [0.1, 0.2]});
        numbers(&output("ba", "jacobian", &input)["vals"])
    };
    for (found, expected) in at(0.0).into_iter().zip(at(1e-9)) {
        assert_close("ba", found, expected);
    }
}

/// The model of the worked example, in a random pose.
fn hand(random: &mut Random, is_simple: bool) -> Value {
    let text = include_str!("../examples/ht.json");
    let mut input = serde_json::from_str::<Value>(text).unwrap()["objective"]["input"].take();
    input["theta"] = json!(random.normal(26));
    input["us"] = if is_simple { json!([]) } else { json!(random.uniform_rows(2, 2)) };
    input
}

#[test]
fn ht_agrees_with_differences() {
    let random = &mut Random::new(7);
    for (is_simple, is_mirrored) in [(true, false), (false, false), (false, true)] {
        let mut input = hand(random, is_simple);
        input["data"]["model"]["is_mirrored"] = json!(is_mirrored);
        let jacobian = output("ht", "jacobian", &input);
        let rows: Vec<Vec<f64>> = jacobian.as_array().unwrap().iter().map(numbers).collect();
        let own = if is_simple { 0 } else { 2 };
        assert!(rows.len() == 6 && rows.iter().all(|row| row.len() == own + 26));
        let primal = Primal { module: "ht", function: "objective", input: &input };
        for (column, place) in places(&input, "/theta").iter().enumerate() {
            for (row, slope) in rows.iter().zip(primal.slopes(place)) {
                assert_close(place, row[own + column], slope);
            }
        }
        for (i, place) in places(&input, "/us").iter().enumerate() {
            for (number, (row, slope)) in rows.iter().zip(primal.slopes(place)).enumerate() {
                assert_close(place, if number / 3 == i / 2 { row[i % 2] } else { 0.0 }, slope);
            }
        }
    }
}

#[test]
fn a_mirrored_hand_is_on_the_other_side() {
    let mut input = hand(&mut Random::new(9), false);
    for i in 0..6 {
        input["theta"][i] = json!(0.0);
    }
    let mut skin = |is_mirrored: bool| -> Vec<f64> {
        input["data"]["model"]["is_mirrored"] = json!(is_mirrored);
        let residuals = numbers(&output("ht", "objective", &input));
        numbers(&input["data"]["points"]).iter().zip(residuals).map(|(point, residual)| point - residual).collect()
    };
    let (left, right) = (skin(false), skin(true));
    for (i, (left, right)) in left.iter().zip(right).enumerate() {
        assert!(left.abs() > 1e-3);
        assert_close("ht", right, if i % 3 == 0 { -left } else { *left });
    }
}

#[test]
fn kmeans_agrees_with_first_and_second_differences() {
    let random = &mut Random::new(8);
    let points = random.normal_rows(12, 3);
    let input = json!({"centroids": points[9..], "points": points});
    let directions = numbers(&output("kmeans", "dir", &input));
    let primal = Primal { module: "kmeans", function: "cost", input: &input };
    assert!(directions.iter().any(|direction| direction.abs() > 1e-2));
    for (place, direction) in places(&input, "/centroids").iter().zip(directions) {
        let h = 1e-3;
        let [above, here, below] = [h, 0.0, -h].map(|change| primal.moved(place, change)[0]);
        let (slope, curvature) = ((above - below) / (2.0 * h), (above - 2.0 * here + below) / (h * h));
        assert_close(place, direction, slope / curvature);
    }
}

#[test]
fn of_centroids_at_one_distance_the_first_has_the_point() {
    let input = json!({"points": [[0.0], [5.0], [-1.0]], "centroids": [[-1.0], [1.0], [5.0]]});
    // The point between the first two belongs to the first, so the second has no points and no direction.
    let answer = super::asking::ask("kmeans", "dir", &input);
    assert!(answer["success"] == false && answer["error"].as_str().unwrap().contains("not finite"), "{answer}");
    let input = json!({"points": [[0.0], [1.5], [-1.0]], "centroids": [[-1.0], [1.0]]});
    assert_eq!(output("kmeans", "dir", &input), json!([[-0.5], [-0.5]]));
}
