//! Every layer has PyTorch's output and gradients, with weights loaded by PyTorch's names.

use wengert::nn::files::NamedTensors;
use wengert::nn::*;
use wengert::prelude::*;

/// The recorded tensors of one case.
struct Case {
    name: &'static str,
    all: NamedTensors,
}

impl Case {
    fn new(name: &'static str) -> Case {
        Case { name, all: NamedTensors::parse(include_bytes!("../data/layers.safetensors")).expect("the record") }
    }

    fn get(&self, what: &str) -> Option<Tensor> {
        self.all.tensors.get(&format!("{}@{what}", self.name)).cloned()
    }

    fn inputs(&self) -> Vec<Tensor> {
        (0..).map_while(|k| self.get(&format!("input{k}"))).collect()
    }

    /// The tensors named `case/name` or `case@group/name`, by name.
    fn group(&self, group: &str) -> NamedTensors {
        let prefix = format!("{}{group}/", self.name);
        let own =
            self.all.tensors.iter().filter_map(|(name, x)| Some((name.strip_prefix(&prefix)?.to_string(), x.clone())));
        NamedTensors { tensors: own.collect(), ..NamedTensors::default() }
    }

    #[track_caller]
    fn agree(&self, what: &str, found: &Tensor, recorded: &Tensor) {
        assert_eq!(found.shape(), recorded.shape(), "{}: {what}", self.name);
        let scale = recorded.abs().max().item().max(1e-3);
        let error = (found - recorded).abs().max().item() / scale;
        assert!(error < 1e-12, "{}: {what}: {found} instead of {recorded}", self.name);
    }
}

/// Loads the weights, and compares output, gradients and new state; at once and compiled.
#[track_caller]
fn check<L: Layer + Tree + Clone>(
    name: &'static str,
    mut layer: L,
    is_training: bool,
    forward: impl Fn(&L, &[Tensor], &mut Context<'_>) -> Tensor,
) {
    let case = Case::new(name);
    let problems = case.group("").load_into(&mut layer, true);
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let (inputs, cotangent) = (case.inputs(), case.get("cotangent").expect("a cotangent"));

    let loss = |(layer, inputs): &(L, Vec<Tensor>)| {
        let mut context = if is_training { Context::training(Key::new(0)) } else { Context::evaluation() }.of(layer);
        let y = forward(layer, inputs, &mut context);
        ((&y * &cotangent).sum(), (y, context.updates()))
    };
    let eager = value_and_grad_with_aux(loss);
    let compiled = compile(value_and_grad_with_aux(loss));
    let at = (layer.clone(), inputs);
    for ((_, (y, updates)), (by_layer, by_inputs)) in [eager(&at), compiled.call(&at)] {
        case.agree("output", &y, &case.get("output").expect("an output"));
        let recorded = case.group("@grad");
        for (leaf, gradient) in by_layer.named_leaves() {
            match recorded.tensors.get(&leaf) {
                Some(right) => case.agree(&format!("gradient of {leaf}"), gradient, right),
                None => {
                    assert!(leaf.starts_with("running") || leaf.starts_with("num"), "{name}: {leaf} is not recorded")
                }
            }
        }
        assert!(recorded.tensors.keys().all(|name| by_layer.named_leaves().iter().any(|(leaf, _)| leaf == name)));
        for (k, gradient) in by_inputs.iter().enumerate() {
            if let Some(right) = case.get(&format!("grad_input{k}")) {
                case.agree(&format!("gradient of input {k}"), gradient, &right);
            }
        }
        let mut after = layer.clone();
        assert_eq!(updates.is_empty(), !is_training || case.group("@after").tensors.is_empty());
        updates.apply(&mut after);
        for (buffer, right) in case.group("@after").tensors {
            let leaves = after.named_leaves();
            let (_, found) = leaves.iter().find(|(leaf, _)| *leaf == buffer).expect("the buffer is a leaf");
            case.agree(&format!("{buffer} after the pass"), &found.cast(DType::F64), &right.cast(DType::F64));
        }
    }
}

/// A layer of one input.
#[track_caller]
fn same<L: Layer + Tree + Clone>(name: &'static str, layer: L) {
    check(name, layer, true, |layer, inputs, context| layer.forward(&inputs[0], context));
}

fn key() -> Key {
    Key::new(3)
}

#[test]
fn linear_layers_and_tables() {
    same("linear", Linear::new(4, 3, &mut key()));
    same("linear_no_bias", Linear::new(4, 3, &mut key()).without_bias());
    check("bilinear", Bilinear::new(3, 4, 2, &mut key()), true, |layer, inputs, context| {
        layer.forward_pair(&inputs[0], &inputs[1], context)
    });
    same("embedding", Embedding::new(6, 3, &mut key()));
    same("embedding_padding_idx", Embedding::new(6, 3, &mut key()).padding_index(1));
}

#[test]
fn convolutions() {
    same("conv1d", Conv1d::new(2, 3, 3, &mut key()).stride(2).padding(1));
    same("conv2d", Conv2d::new(2, 3, 3, &mut key()));
    same("conv2d_stride_padding", Conv2d::new(2, 3, 3, &mut key()).stride(2).padding(1));
    same("conv2d_dilation", Conv2d::new(2, 2, 3, &mut key()).dilation(2));
    same("conv2d_groups", Conv2d::grouped(4, 6, [3, 2], 2, &mut key()).padding(1));
    same("conv3d", Conv3d::new(2, 2, 2, &mut key()).stride([1, 2, 1]).padding([0, 1, 0]));
    same("conv_transpose1d", ConvTranspose1d::new(2, 3, 3, &mut key()).stride(2));
    same("conv_transpose2d", ConvTranspose2d::new(2, 3, 3, &mut key()).stride(2).padding(1).output_padding(1));
    same("conv_transpose3d", ConvTranspose3d::new(2, 2, 2, &mut key()).stride([1, 2, 1]));
}

#[test]
fn pools() {
    same("max_pool1d", MaxPool1d::new(2));
    same("max_pool2d", MaxPool2d::new(2));
    same("max_pool2d_stride_padding", MaxPool2d::new(3).stride(2).padding(1));
    same("max_pool3d", MaxPool3d::new(2));
    same("avg_pool1d", AvgPool1d::new(2));
    same("avg_pool2d", AvgPool2d::new(2));
    same("avg_pool2d_stride_padding", AvgPool2d::new(3).stride(2).padding(1));
    let excluded = Pool::new(3).stride(2).padding(1).count_include_pad(false);
    same("avg_pool2d_exclude_pad", AvgPool2d::with(excluded));
    same("avg_pool3d", AvgPool3d::new(2));
    same("adaptive_avg_pool2d", AdaptiveAvgPool2d::new([3, 2]));
    same("adaptive_max_pool2d", AdaptiveMaxPool2d::new([3, 2]));
}

#[test]
fn norms() {
    same("batch_norm1d_train", BatchNorm::new(3));
    same("batch_norm2d_train", BatchNorm::new(3));
    for name in ["batch_norm1d_eval", "batch_norm2d_eval"] {
        check(name, BatchNorm::new(3), false, |layer, inputs, context| layer.forward(&inputs[0], context));
    }
    same("layer_norm", LayerNorm::new(6));
    same("layer_norm_2d", LayerNorm::over([3, 4]));
    same("rms_norm", RmsNorm::new(6));
    same("group_norm", GroupNorm::new(2, 4));
}

/// Output, gradients and last states.
fn recurrent<C: Cell>(name: &'static str, layer: Recurrent<C>, states: impl Fn(&[C::State]) -> Vec<Tensor>) {
    let run = |layer: &Recurrent<C>, x: &Tensor, context: &mut Context<'_>| layer.run(x, None, context);
    check(name, layer, true, |layer, inputs, context| {
        let (y, last) = run(layer, &inputs[0], context);
        let case = Case::new(name);
        if inputs[0].try_item().is_ok() || catch(|| y.to_vec::<f64>()).is_ok() {
            let stacked = states(&last);
            for (state, what) in stacked.iter().zip(["h", "c"]) {
                case.agree(what, state, &case.get(what).expect("a last state"));
            }
        }
        y
    });
}

#[test]
fn recurrent_layers() {
    let stack = |states: Vec<&Tensor>| Tensor::stack(&states, 0);
    let one = |states: &[Tensor]| vec![stack(states.iter().collect())];
    let two = |states: &[(Tensor, Tensor)]| {
        vec![stack(states.iter().map(|(h, _)| h).collect()), stack(states.iter().map(|(_, c)| c).collect())]
    };
    recurrent("rnn", Rnn::new(3, 4, &mut key()), one);
    recurrent("gru", Gru::new(3, 4, &mut key()), one);
    recurrent("lstm", Lstm::new(3, 4, &mut key()), two);
    recurrent("rnn_2layer_bidirectional", Rnn::stacked(3, 3, 2, true, &mut key()), one);
    recurrent("gru_2layer_bidirectional", Gru::stacked(3, 3, 2, true, &mut key()), one);
    recurrent("lstm_2layer_bidirectional", Lstm::stacked(3, 3, 2, true, &mut key()), two);
}

#[test]
fn attention_and_transformers() {
    let layer = || MultiHeadAttention::new(8, 2, &mut key());
    same("mha_self", layer());
    same("mha_self_causal", layer().causal());
    check("mha_cross", layer(), true, |layer, inputs, context| {
        layer.attend(&inputs[0], &inputs[1], &inputs[2], None, context)
    });
    check("mha_cross_memory", layer(), true, |layer, inputs, context| {
        layer.attend(&inputs[0], &inputs[1], &inputs[1], None, context)
    });
    check("mha_self_causal", layer(), true, |layer, inputs, context| {
        // PyTorch's mask is true where nothing may be seen.
        let mask = Case::new("mha_self_causal").get("mask").expect("a mask").equal(0);
        layer.attend(&inputs[0], &inputs[0], &inputs[0], Some(&mask), context)
    });
    let block = || TransformerBlock::with_hidden(8, 2, 16, &mut key());
    same("transformer_encoder_layer_post_relu", block().norm_last().activation(Activation::Relu));
    same("transformer_encoder_layer_pre_gelu", block().activation(Activation::Gelu));
}

#[test]
fn layers_without_parameters() {
    same("relu", Relu);
    same("gelu", Gelu);
    same("gelu_tanh", GeluTanh);
    same("silu", Silu);
    same("tanh", Tanh);
    same("sigmoid", Sigmoid);
    same("softplus", Softplus);
    same("elu", Elu);
    same("leaky_relu", LeakyRelu::new(0.1));
    same("softmax", Softmax);
    same("log_softmax", LogSoftmax);
    same("upsample_nearest", Upsample::new(Interpolate::scale(2.0)));
    same("upsample_bilinear", Upsample::new(Interpolate::scale(2.0).mode(InterpolateMode::Linear)));
    same("flatten", Flatten);
}
