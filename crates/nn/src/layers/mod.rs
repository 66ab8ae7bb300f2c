//! The layers.

mod activation;
mod attention;
mod container;
mod conv;
mod dropout;
mod embedding;
mod linear;
mod norm;
mod pool;
mod recurrent;
mod shape;

pub use activation::*;
pub use attention::{Activation, KeyValueCache, MultiHeadAttention, TransformerBlock};
pub use container::{Checkpointed, Residual, Sequential};
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Kernel};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use linear::{Bilinear, Linear};
pub use norm::{BatchNorm, GroupNorm, LayerNorm, RmsNorm};
pub use pool::*;
pub use recurrent::{Cell, Gru, GruCell, Lstm, LstmCell, Recurrent, Rnn, RnnCell};
pub use shape::{Flatten, Upsample};
