//! A Caffe that is taken over has names of layers: functions of nets are replaced, too, and call the original.

use crate::caffe_like::*;
use crate::support::assert_has;
use crate::take_over::OPTIMISED;

/// `Net::Init`, which begins with these instructions, and a program that calls it by another function of its file.
pub fn net(first: &str) -> String {
    let init = "_ZN5caffe3NetIfE4InitERKNS_12NetParameterE";
    format!(
        "__asm__(\".globl {init}\\n.type {init}, @function\\n{init}: {first}\\nmovl %eax, (%rsi)\\nret\\n.size {init}, .-{init}\\n0: .long 7\");\n\
         void *_ZNK5caffe3NetIfE6layersEv(void *net) {{ return net; }}\n\
         void {init}(void *, int *); int make_net(void) {{ int net[99] = {{0}}, made = 0; {init}(net, &made); return made; }}"
    )
}

#[test]
fn functions_of_nets_are_replaced_too_and_call_the_original_unless_their_first_instructions_work_only_where_they_are() {
    let workshop = Workshop::new();
    let program = r#"
        #include "caffe.h"
        int make_net(void);
        int main(void) { return sum_of_ones(1000) && make_net() == 7 ? 3 : 99; }
    "#;
    let moved = "taken over by entry patch: 6 of 6 functions, and 1 for the names of layers\n";
    let fixed = "first instructions of _ZN5caffe3NetIfE4InitERKNS_12NetParameterE work only where they are";
    let entered = "another function begins within the first 6 bytes of _ZN5caffe3NetIfE4InitERKNS_12NetParameterE";
    for (first, limit) in [
        ("push %rbx\\nmov %rdi, %rbx\\npop %rbx\\nmov 0f(%rip), %eax", None),
        ("mov 0f(%rip), %eax\\nmov %rdi, %rdx", Some(fixed)),
        ("mov $7, %eax\\n1: mov %rdi, %rdx\\ncmp %rdx, %rdi\\njne 1b", None),
        ("xor %eax, %eax\\n1: add $7, %eax\\ncmp $7, %eax\\njne 1b", Some(fixed)),
        ("nop\\n.type other, @function\\nother: mov $7, %eax", Some(entered)),
    ] {
        println!("{first}");
        workshop.source("net.c", &net(first));
        workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "net.c"]);
        workshop.link("program", program, &[]);
        let result = workshop.run(&[], &["./program"]);
        assert_eq!(result.status, Some(3), "{result:?}");
        result.has(&[limit.unwrap_or(moved)]);
        assert_eq!(result.error.contains(moved), limit.is_none(), "{result:?}");
        result.has(&["was taken over by entry patch: 6 of 6 functions", "3.9 KiB"]);
        let doctor = workshop.syncedmem(&["doctor", "./program"]).ok().replace('\n', " ");
        assert_has(&doctor, &[limit.unwrap_or("and 1 for the names of layers and for sharing")]);
    }
}

/// `Net::Init` of a net with one layer, which makes memory for itself, and what such a net is read by: `std::vector`s are three pointers.
const NAMED_NET: &str = r#"
    #include "caffe.h"
    #define init _ZN5caffe3NetIfE4InitERKNS_12NetParameterE
    __attribute__((noinline)) void init(void **net, int *made) { *net = net; *made = sum_of_ones(1000) ? 7 : 0; }
    int make_net(void) { void *net = 0; int made = 0; init(&net, &made); return made; }
    static struct { char *letters; size_t length; char local[16]; } conv = {conv.local, 5, "conv1"};
    static void *nothing[3], *layer[2], *names[] = {&conv, &conv + 1, &conv + 1}, *layers[] = {layer, layer + 2, layer + 2};
    void *_ZNK5caffe3NetIfE11layer_namesB5cxx11Ev(void *net) { return net ? names : 0; }
    void *_ZNK5caffe3NetIfE6layersEv(void *net) { return net ? layers : 0; }
    void *_ZNK5caffe3NetIfE11bottom_vecsEv(void *net) { return net ? nothing : 0; }
    void *_ZNK5caffe3NetIfE8top_vecsEv(void *net) { return net ? nothing : 0; }
    void *_ZN5caffe5LayerIfE5blobsEv(void *layer) { return layer ? nothing : 0; }
"#;

const MAKES_A_NET: &str = r#"
    #include "caffe.h"
    int make_net(void);
    int main(void) { return make_net() == 7 ? 3 : 99; }
"#;

#[test]
fn nets_inside_a_program_have_names_whether_it_exports_them_or_not() {
    let workshop = Workshop::new();
    workshop.source("net.c", NAMED_NET);
    for options in [&[OPTIMISED][..], &[OPTIMISED, "-rdynamic", "-no-pie"], &["-O3", "-rdynamic", "-s"]] {
        println!("{options:?}");
        workshop.with_caffe_inside(MAKES_A_NET, &[options, &["net.c"]].concat());
        let result = workshop.run(&[], &["./program"]);
        assert_eq!(result.status, Some(3), "{result:?}");
        result.has(&["6 of 6 functions, and 1 for the names of layers", "conv1 internal"]);
        let doctor = workshop.syncedmem(&["doctor", "./program"]).ok().replace('\n', " ");
        assert_has(&doctor, &["and 1 for the names of layers and for sharing"]);
    }
}

#[test]
fn a_second_caffe_of_a_process_is_taken_over_without_names() {
    let workshop = Workshop::new();
    workshop.source("net.c", NAMED_NET);
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "net.c"]);
    std::fs::copy(workshop.path("libcaffe.so"), workshop.path("second.so")).unwrap();
    let program = r#"
        #include "caffe.h"
        #include <dlfcn.h>
        int make_net(void);
        int main(void) {
          int (*second)(void) = (int (*)(void))dlsym(dlopen("./second.so", RTLD_NOW), "make_net");
          return make_net() == 7 && second && second != make_net && second() == 7 ? 3 : 99;
        }
    "#;
    workshop.link("program", program, &["-ldl"]);
    let result = workshop.run(&[], &["./program"]);
    assert_eq!(result.status, Some(3), "{result:?}");
    result.has(&["libcaffe.so was taken over by entry patch: 6 of 6 functions, and 1 for the names of layers\n"]);
    result.has(&["second.so was taken over by entry patch: 6 of 6 functions\n", "conv1 internal"]);
    result.has(&["the layers of ./second.so have no names: another Caffe of this process has them"]);
}
