//! Tests the check itself: wrong primitives, each a small variant of a correct one, are rejected for the right reason.

use super::wrong::{Below, Column, Cube, Mistake, Root};
use wengert::primitive::Primitive;
use wengert_testkit::{Aspect, check, try_check};

/// The check rejects `op`, mentions `expected` in its message, and accepts `sound`.
#[track_caller]
fn rejected(op: &'static dyn Primitive, expected: &[Aspect], sound: &[Aspect]) {
    let failures = try_check(op).expect_err("a wrong primitive passed");
    let text: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
    for aspect in expected {
        assert!(text.contains(&format!("): {aspect}: ")), "{aspect} is not named in\n{text}");
    }
    for aspect in sound {
        assert!(!text.contains(&format!("): {aspect}: ")), "{aspect} is blamed in\n{text}");
    }
}

const FIRST_ORDER: [Aspect; 3] = [Aspect::Value, Aspect::Jvp, Aspect::Vjp];

#[test]
fn the_right_primitives_pass() {
    static CUBE: Cube = Cube { name: "test_cube", mistake: Mistake::None };
    static COLUMN: Column = Column { name: "test_column", mistake: Mistake::None };
    static ROOT: Root = Root { name: "test_root", mistake: Mistake::None };
    static BELOW: Below = Below { name: "test_below", mistake: Mistake::None };
    for op in [&CUBE as &'static dyn Primitive, &COLUMN, &ROOT, &BELOW] {
        let report = check(op);
        for aspect in Aspect::ALL {
            assert_eq!(report.hole(aspect), None, "{}: {aspect}", op.name());
            assert!(report.comparisons(aspect) >= report.cases(aspect));
        }
    }
}

#[test]
fn a_wrong_sign_is_rejected() {
    static OP: Cube = Cube { name: "test_sign", mistake: Mistake::Sign };
    rejected(&OP, &[Aspect::Vjp], &[Aspect::Value, Aspect::Jvp]);
}

#[test]
fn a_wrong_factor_is_rejected() {
    static OP: Cube = Cube { name: "test_factor", mistake: Mistake::Factor };
    rejected(&OP, &[Aspect::Jvp, Aspect::Vjp], &[Aspect::Value, Aspect::Saves]);
}

#[test]
fn a_saved_output_where_the_operand_is_needed_is_rejected() {
    static OP: Cube = Cube { name: "test_saved_output", mistake: Mistake::SavedOutput };
    rejected(&OP, &[Aspect::Jvp, Aspect::Vjp], &[Aspect::Value]);
}

#[test]
fn a_saved_number_that_is_neither_operand_nor_output_is_rejected() {
    static OP: Cube = Cube { name: "test_saved_number", mistake: Mistake::SavedNumber };
    rejected(&OP, &[Aspect::SecondOrder, Aspect::Saves], &FIRST_ORDER);
}

#[test]
fn a_wrong_axis_is_rejected() {
    static OP: Column = Column { name: "test_axis", mistake: Mistake::Axis };
    rejected(&OP, &[Aspect::Vjp], &[Aspect::Value, Aspect::Jvp]);
}

#[test]
fn a_wrong_output_dtype_is_rejected() {
    static OP: Cube = Cube { name: "test_output_dtype", mistake: Mistake::OutputDtype };
    rejected(&OP, &[Aspect::Dtypes], &FIRST_ORDER);
}

#[test]
fn a_wrong_gradient_dtype_is_rejected() {
    static OP: Cube = Cube { name: "test_gradient_dtype", mistake: Mistake::GradientDtype };
    rejected(&OP, &[Aspect::Dtypes], &FIRST_ORDER);
}

#[test]
fn a_slope_that_is_not_differentiated_is_rejected() {
    static OP: Cube = Cube { name: "test_detached_slope", mistake: Mistake::DetachedSlope };
    rejected(&OP, &[Aspect::SecondOrder], &FIRST_ORDER);
}

#[test]
fn a_cotangent_that_is_not_differentiated_is_rejected() {
    static OP: Cube = Cube { name: "test_detached_cotangent", mistake: Mistake::DetachedCotangent };
    rejected(&OP, &[Aspect::SecondOrder], &FIRST_ORDER);
}

#[test]
fn a_wrong_batch_rule_is_rejected() {
    static OP: Column = Column { name: "test_batch", mistake: Mistake::Batch };
    rejected(&OP, &[Aspect::Batch], &[Aspect::Value, Aspect::Jvp, Aspect::Vjp, Aspect::SecondOrder, Aspect::Compiled]);
}

#[test]
fn a_zero_cotangent_that_becomes_nan_is_rejected() {
    static OP: Root = Root { name: "test_zero_cotangent", mistake: Mistake::Unguarded };
    rejected(&OP, &[Aspect::ZeroCotangent], &[Aspect::Value, Aspect::Jvp, Aspect::Vjp, Aspect::SecondOrder]);
}

#[test]
fn an_unnecessary_save_is_rejected() {
    static OP: Cube = Cube { name: "test_unnecessary_save", mistake: Mistake::UnnecessarySave };
    rejected(&OP, &[Aspect::Saves], &[Aspect::Value, Aspect::Jvp, Aspect::Vjp, Aspect::SecondOrder]);
}

#[test]
fn an_undeclared_read_is_rejected() {
    static OP: Cube = Cube { name: "test_undeclared_read", mistake: Mistake::UndeclaredRead };
    rejected(&OP, &[Aspect::Saves], &[Aspect::Value]);
}

#[test]
fn an_alternative_that_gives_other_gradients_is_rejected() {
    static OP: Below = Below { name: "test_alternative", mistake: Mistake::Alternative };
    rejected(&OP, &[Aspect::Saves], &[Aspect::Value, Aspect::Jvp, Aspect::Batch]);
}

#[test]
fn an_alternative_that_is_not_enough_is_rejected() {
    static OP: Below = Below { name: "test_poor_alternative", mistake: Mistake::PoorAlternative };
    rejected(&OP, &[Aspect::Saves], &[Aspect::Value]);
}

#[test]
fn a_wrong_dependency_class_is_rejected() {
    static OP: Column = Column { name: "test_dependency", mistake: Mistake::Dependency };
    rejected(&OP, &[Aspect::Sparsity], &[Aspect::Value, Aspect::Jvp, Aspect::Vjp, Aspect::Batch, Aspect::Structure]);
}

#[test]
fn a_wrong_class_of_jets_is_rejected() {
    static LINEAR: Cube = Cube { name: "test_jet_linear", mistake: Mistake::JetClass };
    rejected(&LINEAR, &[Aspect::Jet, Aspect::Structure], &[Aspect::SecondOrder, Aspect::Batch, Aspect::Compiled]);
    static QUOTIENT: Root = Root { name: "test_jet_quotient", mistake: Mistake::JetClass };
    rejected(&QUOTIENT, &[Aspect::Jet], &[Aspect::Structure, Aspect::SecondOrder, Aspect::Batch]);
}

#[test]
fn a_kernel_that_does_not_write_all_of_its_output_is_rejected() {
    static OP: Below = Below { name: "test_unwritten", mistake: Mistake::Unwritten };
    rejected(&OP, &[Aspect::Memory], &[Aspect::Value, Aspect::Jvp, Aspect::Vjp, Aspect::Dtypes]);
}

#[test]
fn a_wrong_value_is_rejected() {
    static OP: Root = Root { name: "test_value", mistake: Mistake::Value };
    rejected(&OP, &[Aspect::Value], &[]);
}

#[test]
fn attributes_that_are_not_those_declared_are_rejected() {
    static OP: Column = Column { name: "test_attributes", mistake: Mistake::Attributes };
    rejected(&OP, &[Aspect::Structure], &FIRST_ORDER);
}

#[test]
fn a_shape_rule_that_takes_any_kind_of_attribute_is_rejected() {
    static OP: Column = Column { name: "test_attribute_kind", mistake: Mistake::AttributeKind };
    rejected(&OP, &[Aspect::Structure], &FIRST_ORDER);
}

#[test]
fn a_name_that_is_taken_is_rejected() {
    static OP: Cube = Cube { name: "tanh", mistake: Mistake::None };
    let failures = try_check(&OP).unwrap_err();
    assert!(
        failures.iter().any(|failure| failure.to_string() == "tanh: structure: another primitive is called 'tanh'")
    );
}

#[test]
#[should_panic(expected = "test_loud is wrong in")]
fn check_panics_with_a_list() {
    static OP: Cube = Cube { name: "test_loud", mistake: Mistake::Sign };
    check(&OP);
}
