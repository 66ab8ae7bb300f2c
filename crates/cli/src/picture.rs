//! Digits as text.

use crate::digits::{Digits, PIXELS, SIDE};

/// From paper to ink.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// The number of images side by side.
const SHOWN: usize = 5;
/// The number of mistakes among them, if there are that many.
const MISTAKES: usize = 2;

/// Draws a few images side by side with their predictions: the first ones, then some mistakes.
pub fn pictures(digits: &Digits, guesses: &[i64]) -> String {
    let labels = digits.labels.to_vec::<i64>();
    let wrong = (0..labels.len()).filter(|&i| guesses[i] != labels[i]).take(MISTAKES);
    let wrong: Vec<usize> = wrong.collect();
    let right = (0..labels.len()).filter(|&i| guesses[i] == labels[i]).take(SHOWN - wrong.len());
    let shown: Vec<usize> = right.chain(wrong).collect();

    let images = digits.images.to_vec::<f32>();
    let strip = |image: usize, y: usize| -> String {
        let row = &images[image * PIXELS + y * SIDE..][..SIDE];
        row.iter().flat_map(|&pixel| [shade(pixel); 2]).collect()
    };
    let caption = |image: usize| match (guesses[image], labels[image]) {
        (guess, label) if guess == label => format!("read as {guess}"),
        (guess, label) => format!("read as {guess}, is {label}"),
    };
    let rows = (0..SIDE).map(|y| shown.iter().map(|&image| strip(image, y)).collect());
    let captions = std::iter::once(shown.iter().map(|&image| caption(image)).collect());
    rows.chain(captions).map(|cells: Vec<String>| line(&cells)).collect()
}

fn line(cells: &[String]) -> String {
    let padded: Vec<String> = cells.iter().map(|cell| format!("{cell:<width$}", width = 2 * SIDE)).collect();
    format!("  {}", padded.join("   ")).trim_end().to_string() + "\n"
}

fn shade(pixel: f32) -> char {
    SHADES[(pixel * (SHADES.len() - 1) as f32).round() as usize]
}
