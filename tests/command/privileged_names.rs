//! A program with more rights than its caller: libsyncedmem_net.so heeds no setting, and says nothing.

use std::process::Command;

use crate::caffe_like::{Said, Workshop, said};
use crate::net_like::{self, LINKED};
use crate::take_over::both_libraries;

const PROGRAM: &str = r#"
    #include "caffe.hpp"
    #include <cstdio>
    #include <sys/auxv.h>
    #ifdef PRIVILEGED
    extern "C" unsigned long getauxval(unsigned long type) { return type == AT_SECURE; }
    #endif
    template <typename L> caffe::Layer<float> *make() { return new L; }
    int main() {
      caffe::NetParameter parameters;
      parameters.layers.emplace_back("d", make<caffe::InputLayer<float>>);
      for (int i = 0; i < 5; ++i) parameters.layers.emplace_back("r" + std::to_string(i), make<caffe::ReLULayer<float>>);
      caffe::Net<float> net(parameters);
      net.blobs()[0]->mutable_cpu_data();
      net.ForwardFromTo(0, 5);
      printf("privileged %lu\n", getauxval(AT_SECURE));
    }
"#;

fn result(workshop: &Workshop, program: &str, share: &str) -> Said {
    let mut command = Command::new(workshop.path(program));
    command.env("LD_PRELOAD", both_libraries()).env("SYNCEDMEM_SHARE", share).env("SYNCEDMEM_KEEP", "r1,nothing");
    said(command.current_dir(&***workshop))
}

#[test]
fn a_program_with_more_rights_than_its_caller_shares_and_keeps_nothing() {
    let workshop = net_like::workshop();
    workshop.source("program.cpp", PROGRAM);
    let options = ["-fPIC", "-O1", "-rdynamic", "program.cpp"];
    workshop.compile("program", &[&options[..], &LINKED].concat());
    workshop.compile("privileged", &[&options[..], &["-DPRIVILEGED"], &LINKED].concat());
    for (share, sentence) in [
        ("all", "libsyncedmem: shared memory needed"),
        ("all", "SYNCEDMEM_KEEP names \"nothing\""),
        ("off", "SYNCEDMEM_KEEP has no effect, because SYNCEDMEM_SHARE is off"),
        ("some", "SYNCEDMEM_SHARE=some is not one of off gradients all parked; using off"),
    ] {
        let heeds = result(&workshop, "program", share);
        assert_eq!((heeds.status, heeds.output.as_str()), (Some(0), "privileged 0\n"), "{heeds:?}");
        heeds.has(&[sentence]);
        let privileged = result(&workshop, "privileged", share);
        let said = (privileged.status, privileged.output.as_str(), privileged.error.as_str());
        assert_eq!(said, (Some(0), "privileged 1\n", ""), "{share}");
    }
}

#[test]
fn a_program_without_caffe_says_nothing_of_settings() {
    let mut command = Command::new("true");
    command.env("LD_PRELOAD", both_libraries()).env("SYNCEDMEM_SHARE", "some").env("SYNCEDMEM_KEEP", "conv1");
    command.env("SYNCEDMEM_TAKE_OVER", "yes").env("SYNCEDMEM_MODE", "none");
    let said = said(&mut command);
    assert_eq!((said.status, said.error.as_str()), (Some(0), ""));
}
