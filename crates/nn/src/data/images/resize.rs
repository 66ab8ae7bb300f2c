//! Pictures brought to a size.

/// The neighbours of a pixel of the result along one axis: the first, and their weights.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// A triangle around the centre of each pixel, as wide as two pixels of the source or of the result, whichever is wider.
fn taps(from: usize, to: usize) -> impl Iterator<Item = Taps> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    (0..to).map(move |place| {
        let centre = (place as f64 + 0.5) * scale - 0.5;
        let first = ((centre - reach).ceil().max(0.0) as usize).min(from - 1);
        let last = ((centre + reach).floor() as usize).clamp(first, from - 1);
        let weight = |tap: usize| (1.0 - (tap as f64 - centre).abs() / reach).max(0.0);
        let sum: f64 = (first..=last).map(weight).sum();
        Taps { first, weights: (first..=last).map(|tap| (weight(tap) / sum) as f32).collect() }
    })
}

/// Appends the picture `[rows, columns]` with interleaved channels as `[channels, height, width]` from 0 to 1. Beside the result it takes
/// the memory of a row.
pub(super) fn resize(source: &[u8], [rows, columns]: [usize; 2], shape: [usize; 3], values: &mut Vec<f32>) {
    let [channels, height, width] = shape;
    let start = values.len();
    values.resize(start + channels * height * width, 0.0);
    let across: Vec<Taps> = taps(columns, width).collect();
    let mut row = vec![0.0f32; columns * channels];
    for (y, down) in taps(rows, height).enumerate() {
        row.fill(0.0);
        for (line, weight) in source.chunks_exact(columns * channels).skip(down.first).zip(&down.weights) {
            row.iter_mut().zip(line).for_each(|(sum, value)| *sum += weight * f32::from(*value));
        }
        for (x, taps) in across.iter().enumerate() {
            for channel in 0..channels {
                let along = row[channel..].iter().step_by(channels).skip(taps.first).zip(&taps.weights);
                let value: f32 = along.map(|(value, weight)| value * weight).sum();
                values[start + (channel * height + y) * width + x] = (value / 255.0).clamp(0.0, 1.0);
            }
        }
    }
}
