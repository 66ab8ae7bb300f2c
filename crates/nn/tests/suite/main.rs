//! Tests of networks, most of them against numbers recorded from PyTorch in f64 (see `data/README.md`).

mod imports;
mod init;
mod layers;
mod losses;
mod mistakes;
mod models;
mod optimisers;
mod readers;
mod training;
