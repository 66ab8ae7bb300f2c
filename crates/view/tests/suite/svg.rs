use crate::data::hard;
use crate::xml::{Element, elements};
use wengert_view::Plot;

/// All places that an element names, as `(x, y)`; a place on one axis only has 0 on the other.
fn places(element: &Element) -> Vec<(f64, f64)> {
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{text:?} is no number"));
    let mut places: Vec<(f64, f64)> = Vec::new();
    for (name, value) in &element.attributes {
        match name.as_str() {
            "x" | "x1" | "x2" | "cx" | "width" => places.push((number(value), 0.0)),
            "y" | "y1" | "y2" | "cy" | "height" => places.push((0.0, number(value))),
            "points" => places.extend(value.split(' ').map(|point| {
                let (x, y) = point.split_once(',').unwrap();
                (number(x), number(y))
            })),
            // Commands `Mx y`, `Vy` and `Hx`.
            "d" => value.replace('M', " M").replace('V', " V").replace('H', " H").split_whitespace().for_each(|part| {
                match part.split_at(1) {
                    ("M" | "H", x) => places.push((number(x), 0.0)),
                    ("V", y) => places.push((0.0, number(y))),
                    _ => places.push((0.0, number(part))),
                }
            }),
            _ => {}
        }
    }
    // Labels of ticks are plain ASCII in a font of size 12.
    let (x, length) = (places.first().map_or(0.0, |place| place.0), element.text.len() as f64 * 7.2);
    match element.attribute("text-anchor") {
        Some("end") => places.push((x - length, 0.0)),
        Some("middle") if element.text.parse::<f64>().is_ok() => {
            places.extend([(x - length / 2.0, 0.0), (x + length / 2.0, 0.0)]);
        }
        _ => {}
    }
    places
}

#[test]
fn hard_plots_are_well_formed_and_inside_the_view_box() {
    for (name, plot) in hard() {
        let svg = plot.svg();
        let all = elements(&svg).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let view: Vec<f64> = all[0].attribute("viewBox").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        for element in &all {
            for (x, y) in places(element) {
                let is_inside = (0.0..=view[2]).contains(&x) && (0.0..=view[3]).contains(&y);
                assert!(is_inside, "{name}: ({x}, {y}) of <{}> is outside of {view:?}", element.name);
            }
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
}

fn count(svg: &str, name: &str) -> usize {
    elements(svg).unwrap().iter().filter(|element| element.name == name).count()
}

#[test]
fn a_line_has_all_its_points() {
    let svg = Plot::new("").values("a", &[0.0, 1.0, 0.5]).svg();
    let all = elements(&svg).unwrap();
    let line = all.iter().find(|element| element.name == "polyline").unwrap();
    let points = places(line);
    assert_eq!(points.len(), 3);
    assert!(points[0].1 > points[2].1 && points[2].1 > points[1].1, "up is up: {points:?}");
    assert!((points[1].0 - points[0].0 - (points[2].0 - points[1].0)).abs() < 0.2, "equal steps: {points:?}");
}

#[test]
fn gaps_split_a_line_and_single_points_are_discs() {
    let nan = f64::NAN;
    let svg = Plot::new("").values("a", &[1.0, 2.0, nan, 5.0, f64::INFINITY, 3.0, 4.0, nan]).svg();
    assert_eq!((count(&svg, "polyline"), count(&svg, "circle")), (2, 1));
    let svg = Plot::new("").values("a", &[1.0, 0.0, 10.0, 100.0, -1.0]).log_y().svg();
    assert_eq!((count(&svg, "polyline"), count(&svg, "circle")), (1, 1));
}

#[test]
fn a_legend_appears_with_the_second_line() {
    let one = Plot::new("").values("alpha", &[1.0, 2.0]);
    assert!(!one.svg().contains("alpha"));
    let two = one.values("beta", &[2.0, 1.0]).svg();
    assert!(two.contains(">alpha</text>") && two.contains(">beta</text>"));
    assert_eq!(count(&two, "line"), 2);
}

#[test]
fn long_lines_make_small_files() {
    let values: Vec<f64> = (0..1_000_000).map(|i| if i == 654_321 { 50.0 } else { (i as f64 * 0.01).sin() }).collect();
    let svg = Plot::new("").values("a", &values).svg();
    let all = elements(&svg).unwrap();
    let points = places(all.iter().find(|element| element.name == "polyline").unwrap());
    assert!((1900..=2000).contains(&points.len()), "{}", points.len());
    assert!(svg.len() < 40_000, "{} bytes", svg.len());
    let highest = points.iter().map(|point| point.1).fold(f64::MAX, f64::min);
    assert_eq!(points.iter().filter(|point| point.1 == highest).count(), 1, "the peak stays");

    let gaps: Vec<f64> = values.iter().enumerate().map(|(i, &y)| if i % 2 == 0 { y } else { f64::NAN }).collect();
    assert!(count(&Plot::new("").values("a", &gaps).svg(), "circle") <= 2000);
}

#[test]
fn names_are_escaped() {
    let svg = Plot::new("f < g & \"h\"").values("<b>", &[1.0]).values("it's", &[2.0]).svg();
    assert!(svg.contains("f &lt; g &amp; &quot;h&quot;") && svg.contains("&lt;b&gt;") && svg.contains("it&apos;s"));
}
