//! Pictures as strings: SVG that a strict reader accepts, and text that is compared with a picture.

mod collapsed;
mod data;
mod doctor;
mod explorer;
mod graphs;
mod profile;
mod samples;
mod svg;
mod terminal;
mod xml;
