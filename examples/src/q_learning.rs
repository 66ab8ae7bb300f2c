//! Deep Q-learning: a pendulum with a weak motor learns to swing up. The value of an action is compared with a goal that a second network
//! computes, a copy from some time ago. The goal is `detach`ed, so the second network gets no gradient.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser};
use wengert::nn::{Context, Layer, Linear, Relu};
use wengert::prelude::*;
use wengert_view::Plot;

/// From the sine, the cosine and the angular speed to the values of three actions.
type Network = (Linear, Relu, Linear, Relu, Linear);

const TURNS: usize = 200;
const BATCH: usize = 64;
const DISCOUNT: f64 = 0.98;

#[derive(Tree)]
struct Agent {
    online: Network,
    target: Network,
}

/// The squared error of `Q(s, a) = r + discount * max Q'(s', a')`, for rows of `s, a, r, s'`.
fn loss(agent: &Agent, batch: &Tensor) -> Tensor {
    let [seen, action, reward, next] = [0..3, 3..4, 4..5, 5..8].map(|part| batch.slice((.., part)));
    let values = agent.online.forward(&seen, &mut Context::evaluation());
    let ahead = agent.target.forward(&next, &mut Context::evaluation()).max_over(keepdim(1));
    let goal = (reward + DISCOUNT * ahead).detach();
    values.gather(1, &action.cast(DType::I64)).mse_loss(&goal, Reduction::Mean)
}

/// Angle, 0 when upright, and angular speed after a twentieth of a second, with the motor off or on in one of two directions.
fn turned((angle, speed): (f64, f64), action: usize) -> (f64, f64) {
    let torque = [-2.0, 0.0, 2.0][action];
    let speed = (speed + 0.05 * (15.0 * angle.sin() + 3.0 * torque)).clamp(-8.0, 8.0);
    (angle + 0.05 * speed, speed)
}

/// The mean height of the tip in each episode, from -1 to 1. All actions are random if it does not learn.
fn heights(episodes: usize, learns: bool) -> Vec<f64> {
    let optimiser = Adam::new(2e-3);
    let step = compile_step(|(agent, memory): &mut (Agent, Memory), batch: &Tensor| {
        let gradient = grad(|agent: &Agent| loss(agent, batch))(agent);
        optimiser.update(&mut agent.online, &gradient.online, memory);
    });
    let best = compile(|(network, seen): &(Network, Tensor)| {
        network.forward(seen, &mut Context::evaluation()).argmax_along(0)
    });
    let key = &mut Key::new(0);
    let online: Network = default_dtype(DType::F32, || {
        (Linear::new(3, 64, key), Relu, Linear::new(64, 64, key), Relu, Linear::new(64, 3, key))
    });
    let memory = optimiser.start(&online);
    let mut state = (Agent { target: online.clone(), online }, memory);
    let mut replay: Vec<Vec<f32>> = Vec::new();
    let seen = |(angle, speed): (f64, f64)| [angle.sin() as f32, angle.cos() as f32, speed as f32 / 8.0];
    let episode = |number: i32| {
        let (mut pendulum, mut height) = ((std::f64::consts::PI, 0.0), 0.0);
        let draws = key.next().uniform([TURNS, BATCH + 2], DType::F64).to_vec::<f64>();
        for (turn, draw) in draws.chunks(BATCH + 2).enumerate() {
            let now = seen(pendulum);
            let is_random = !learns || draw[0] < 0.8f64.powi(number).max(0.02);
            let action = match is_random {
                true => (draw[1] * 3.0) as usize,
                false => best.call(&(state.0.online.clone(), Tensor::from(now))).item() as usize,
            };
            pendulum = turned(pendulum, action);
            let reward = pendulum.0.cos();
            height += reward / TURNS as f64;
            replay.push([&now[..], &[action as f32, reward as f32], &seen(pendulum)].concat());
            let rows = draw[2..].iter().flat_map(|draw| &replay[(draw * replay.len() as f64) as usize]);
            if learns {
                step.call(&mut state, &Tensor::from_vec(rows.copied().collect(), [BATCH, 8]));
            }
            if turn % 100 == 0 {
                state.0.target = state.0.online.clone();
            }
        }
        height
    };
    (0..episodes as i32).map(episode).collect()
}

/// Learns, and compares with random actions.
pub fn run(length: Length) -> Outcome {
    let episodes = length.of(50, 7);
    let (learnt, random) = (heights(episodes, true), heights(episodes, false));
    Outcome {
        plot: Plot::new("Q-learning swings a pendulum up")
            .values("learnt actions", &learnt)
            .values("random actions", &random)
            .x_label("episode of ten seconds")
            .y_label("mean height of the tip"),
        text: String::new(),
        figure: learnt[episodes - 3..].iter().sum::<f64>() / 3.0,
    }
}
