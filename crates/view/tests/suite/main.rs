//! Pictures as strings: SVG that a strict reader accepts, and text that is compared with a picture.

mod data;
mod svg;
mod terminal;
mod xml;
