use super::*;

fn layer(kind: &str, bottoms: &[usize], tops: &[usize]) -> Layer<'static> {
    let kind = Box::leak(kind.to_owned().into_boxed_str());
    Layer {
        kind,
        form: Form { is_in_place: bottoms.first() == tops.first(), tops: tops.len(), ..Form::default() },
        bottoms: bottoms.to_vec(),
        propagates: vec![true; bottoms.len()],
        tops: tops.to_vec(),
        internals: vec![],
    }
}

fn ends(plan: &Plan, blob: usize, part: Part) -> Vec<Call> {
    plan.shared.iter().filter(|shared| shared.blob == blob && shared.part == part).flat_map(Shared::ends).collect()
}

/// The calls of each life.
fn lives(plan: &Plan, blob: usize) -> Vec<(Call, Call)> {
    let shared = plan.shared.iter().find(|shared| shared.blob == blob && shared.part == Part::Data);
    shared.map_or(vec![], |shared| shared.lives.clone())
}

fn reason(plan: &Plan, blob: usize) -> Option<&'static str> {
    plan.excluded.iter().find(|(excluded, _)| *excluded == blob).map(|&(_, why)| why)
}

const NONE: fn() -> HashSet<usize> = HashSet::new;

/// data 0, conv 1, relu in place, split 2 and 3, conv 4, sum 5.
fn net() -> Vec<Layer<'static>> {
    vec![
        layer("Input", &[], &[0]),
        layer("Convolution", &[0], &[1]),
        layer("ReLU", &[1], &[1]),
        layer("Split", &[1], &[2, 3]),
        layer("Convolution", &[2], &[4]),
        layer("Eltwise", &[3, 4], &[5]),
    ]
}

#[test]
fn an_activation_dies_after_its_last_consumer_even_if_a_split_shares_it() {
    let plan = plan(&net(), true, Mode::All, &NONE());
    for blob in [1, 2, 3] {
        assert_eq!(ends(&plan, blob, Part::Data), [Call::Forward(5)], "blob {blob}");
    }
    assert_eq!(ends(&plan, 4, Part::Data), [Call::Forward(5)]);
    assert_eq!(reason(&plan, 5), Some("an output of the net"));
    assert_eq!(reason(&plan, 0), Some("filled by a layer without inputs"));
    assert!(plan.shared.iter().all(|shared| shared.part == Part::Data), "no diffs in a test");
}

#[test]
fn a_diff_dies_after_the_backward_of_its_first_producer() {
    let plan = plan(&net(), false, Mode::Gradients, &NONE());
    assert_eq!(ends(&plan, 1, Part::Diff), [Call::Backward(1)]);
    assert_eq!(ends(&plan, 2, Part::Diff), [Call::Backward(3)]);
    assert_eq!(ends(&plan, 4, Part::Diff), [Call::Backward(4)]);
    assert!(plan.shared.iter().all(|shared| shared.part == Part::Diff), "activations stay readable");
}

#[test]
fn in_training_an_activation_dies_after_the_last_call_that_reads_it() {
    let mut layers = net();
    // The product reads its bottoms. The first convolution and the ReLU layer in place before it do not read what they make.
    let product = plan(&layers, false, Mode::All, &NONE());
    for (blob, end) in [(1, 2), (2, 2), (3, 2), (4, 5)] {
        assert_eq!(ends(&product, blob, Part::Data), [Call::Backward(end)], "blob {blob}");
    }
    layers[5].form.is_sum = true;
    let sum = plan(&layers, false, Mode::All, &NONE());
    assert_eq!(ends(&sum, 4, Part::Data), [Call::Forward(5)], "no layer reads a branch that is added");
    assert_eq!(ends(&sum, 1, Part::Data), [Call::Backward(2)]);
    layers[4].form.is_cudnn = true;
    let of_top = |layers: &[Layer<'_>]| ends(&plan(layers, false, Mode::All, &NONE()), 4, Part::Data);
    assert_eq!(of_top(&layers), [Call::Forward(5)], "cuDNN's convolution does not read its top");
    layers[4].kind = "ReLU";
    assert_eq!(of_top(&layers), [Call::Backward(4)], "cuDNN's ReLU reads its top");
}

#[test]
fn what_waits_has_a_life_in_each_pass_and_ends_after_the_second() {
    let mut layers = net();
    layers[5].form.is_sum = true;
    layers.push(layer("ReLU", &[5], &[5]));
    layers.push(layer("InnerProduct", &[5], &[6]));
    let parked = plan(&layers, false, Mode::Parked, &NONE());
    let in_forward = (Call::Forward(1), Call::Forward(5));
    assert_eq!(lives(&parked, 1), [in_forward, (Call::Backward(4), Call::Backward(2))]);
    assert_eq!(ends(&parked, 1, Part::Data), [Call::Backward(2)]);
    assert_eq!(lives(&parked, 4), [(Call::Forward(4), Call::Forward(5))], "dead contents do not wait");
    let of_relu = parked.shared.iter().find(|shared| shared.blob == 1 && shared.part == Part::Data);
    assert_eq!(of_relu.map(|shared| &shared.expected), Some(&Expected::Percent(WITH_ZEROS)));
    assert_eq!(lives(&parked, 5), [(Call::Forward(5), Call::Backward(6))], "too short to wait");
    let tested = plan(&layers, true, Mode::Parked, &NONE());
    assert!(tested.shared.iter().all(|shared| !shared.waits), "nothing waits in phase TEST");
}

#[test]
fn what_contents_that_wait_are_expected_to_be_follows_from_the_layers() {
    let mut layers = vec![
        layer("Input", &[], &[0]),
        layer("Convolution", &[0], &[1]),
        layer("BatchNorm", &[1], &[1]),
        layer("Scale", &[1], &[1]),
        layer("ReLU", &[1], &[1]),
        layer("Pooling", &[0], &[2]),
        layer("Concat", &[1, 2], &[3]),
        layer("Dropout", &[3], &[3]),
        layer("Convolution", &[3], &[4]),
        layer("InnerProduct", &[4], &[5]),
    ];
    for (number, internals) in [(2, vec![20, 21]), (3, vec![30]), (5, vec![50]), (7, vec![70])] {
        layers[number].internals = internals;
    }
    let plan = plan(&layers, false, Mode::Parked, &NONE());
    let expected = |blob: usize| {
        let mut of_blob = plan.shared.iter().filter(|shared| shared.blob == blob && shared.part == Part::Data);
        of_blob.next().map(|shared| shared.expected.clone())
    };
    for (blob, wanted) in [
        (1, Expected::Percent(WITH_ZEROS)),
        (20, Expected::OfBatchNorm),
        (21, Expected::OfBatchNorm),
        (30, Expected::TwinOf(vec![20, 21])),
        (50, Expected::Percent(45)),
        (70, Expected::Percent(10)),
        (3, Expected::Percent(WITH_ZEROS)),
    ] {
        assert_eq!(expected(blob), Some(wanted), "blob {blob}");
    }
    layers[7] = layer("Silence", &[3], &[]);
    let plan = super::plan(&layers, false, Mode::Parked, &NONE());
    let of_concat = plan.shared.iter().find(|shared| shared.blob == 3 && shared.part == Part::Data);
    assert_eq!(of_concat.map(|shared| &shared.expected), Some(&Expected::Rows(vec![1, 2])));
}

#[test]
fn a_diff_that_a_consumer_does_not_write_is_not_shared() {
    let mut layers = net();
    layers[5].propagates = vec![false, true];
    let plan = plan(&layers, false, Mode::All, &NONE());
    assert_eq!(ends(&plan, 3, Part::Diff), []);
    assert_eq!(reason(&plan, 3), Some("no layer writes its gradient"));
    assert_eq!(ends(&plan, 2, Part::Diff), [Call::Backward(3)]);
}

#[test]
fn a_blob_that_an_unknown_layer_touches_is_not_shared_nor_are_its_aliases() {
    let mut layers = net();
    layers[4].kind = "Mine";
    let plan = plan(&layers, true, Mode::All, &NONE());
    for blob in [1, 2, 3, 4] {
        assert_eq!(reason(&plan, blob), Some("a layer of an unknown type touches it"), "blob {blob}");
    }
    assert_eq!(plan.shared, []);
}

#[test]
fn a_blob_that_the_user_keeps_is_not_shared() {
    let plan = plan(&net(), true, Mode::All, &HashSet::from([2]));
    assert_eq!(reason(&plan, 1), Some("listed in SYNCEDMEM_KEEP"));
    assert_eq!(ends(&plan, 4, Part::Data), [Call::Forward(5)]);
}

#[test]
fn flatten_shares_both_parts_and_a_concat_of_one() {
    let layers = [
        layer("Input", &[], &[0]),
        layer("ReLU", &[0], &[1]),
        layer("Flatten", &[1], &[2]),
        layer("Concat", &[2], &[3]),
        layer("Power", &[3], &[4]),
    ];
    let plan = plan(&layers, false, Mode::All, &NONE());
    for blob in [1, 2, 3] {
        assert_eq!(ends(&plan, blob, Part::Diff), [Call::Backward(1)], "blob {blob}");
        assert_eq!(ends(&plan, blob, Part::Data), [Call::Backward(4)], "Power reads it last: blob {blob}");
    }
}

#[test]
fn scratch_dies_after_each_call_and_other_internals_after_backward() {
    let mut layers = net();
    layers[1].internals = vec![10];
    layers[2] = layer("Dropout", &[1], &[1]);
    layers[2].internals = vec![20];
    let trained = plan(&layers, false, Mode::Gradients, &NONE());
    assert_eq!(ends(&trained, 10, Part::Data), [Call::Forward(1), Call::Backward(1)]);
    assert_eq!(ends(&trained, 20, Part::Data), [Call::Backward(2)]);
    let tested = plan(&layers, true, Mode::Gradients, &NONE());
    assert_eq!(ends(&tested, 20, Part::Data), [Call::Forward(2)]);
}

#[test]
fn a_layer_whose_second_top_may_hold_its_internals_keeps_them() {
    let mut layers = vec![layer("Input", &[], &[0, 1]), layer("SoftmaxWithLoss", &[0, 1], &[2, 3])];
    layers[1].internals = vec![10];
    assert_eq!(ends(&plan(&layers, true, Mode::All, &NONE()), 10, Part::Data), []);
    layers[1].tops = vec![2];
    assert_eq!(ends(&plan(&layers, true, Mode::All, &NONE()), 10, Part::Data), [Call::Forward(1)]);
}
