//! Forward mode: every value of the list with its derivative in the direction of each input.

use super::point::coordinates;
use super::recording::{Recording, Row};
use super::report::{Body, Cell, Section};
use wengert::autograd::TapeRow;
use wengert::prelude::*;

/// The list with a column of tangents for every coordinate of the point.
pub fn tangents(recording: &Recording, point: &[(String, Tensor)]) -> Section {
    let inputs: Vec<Tensor> = point.iter().map(|(_, tensor)| tensor.clone()).collect();
    let along = |direction: Vec<Tensor>| jvp(|inputs: &Vec<Tensor>| recording.rerun(inputs), &inputs, &direction).1;
    let columns: Vec<Vec<Tensor>> = directions(&inputs).into_iter().map(along).collect();

    let row = |(position, (tape, Row { operation, value, .. })): (usize, (&TapeRow, &Row))| {
        let head = [Cell::Text(tape.name.clone()), Cell::Text(operation.clone()), Cell::Value(Some(value.clone()))];
        let tangents = columns.iter().map(|tangents| Cell::Value(Some(tangents[position].clone())));
        head.into_iter().chain(tangents).collect()
    };
    let heads = ["", "operation", "value"].map(String::from).into_iter();
    Section {
        key: "tangents",
        heading: "Tangents: every value with its derivative by each input, computed on the way.".into(),
        body: Body::Table {
            columns: heads.chain(coordinates(point).iter().map(|name| format!("d/d{name}"))).collect(),
            rows: recording.rows().enumerate().map(row).collect(),
        },
    }
}

/// The unit vectors of the space of inputs.
fn directions(inputs: &[Tensor]) -> Vec<Vec<Tensor>> {
    let unit = |input: usize, element: usize| {
        let part = |(position, tensor): (usize, &Tensor)| {
            let is_one = |place: usize| position == input && place == element;
            let numbers: Vec<f64> = (0..tensor.elements()).map(|place| f64::from(u8::from(is_one(place)))).collect();
            Tensor::from_vec(numbers, tensor.shape())
        };
        inputs.iter().enumerate().map(part).collect()
    };
    let units = |(input, tensor): (usize, &Tensor)| {
        (0..tensor.elements()).map(move |element| unit(input, element)).collect::<Vec<_>>()
    };
    inputs.iter().enumerate().flat_map(units).collect()
}
