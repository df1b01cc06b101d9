//! A process that has several Caffes, or closes one: each call reaches the function that it reaches without libsyncedmem_net.so.

use crate::caffe_like::*;
use crate::take_over::OPTIMISED;

/// A small Caffe, which is linked plainly: `Net::Init` writes its number behind the address of the class's table, with which a net begins.
const CAFFE: &str = r#"
    #define init _ZN5caffe3NetIfE4InitERKNS_12NetParameterE
    int _ZN5caffe4BlobIfE3sumEv(long);
    static void *table[1];
    void *_ZNK5caffe3NetIfE6layersEv(void *net) { return net; }
    __attribute__((noinline)) void init(void **net, void *parameters) { net[1] = (void *)(MEMORY ? WHO : 0); }
    int make(void) { void *net[99] = {table}; init(net, 0); return net[1] == (void *)WHO ? WHO : -1 - (int)(long)net[1]; }
    void begin(void **net) { net[0] = table; }
    /* It ends with a jump: the caller of `init` is that of this function. */
    void jump(void **net) { begin(net); init(net, 0); }
"#;

/// A file that uses the Caffe with which it was linked.
const USER: &str = r#"
    void _ZN5caffe3NetIfE4InitERKNS_12NetParameterE(void **, void *);
    void begin(void **net);
    int make(void) { void *net[99]; begin(net); _ZN5caffe3NetIfE4InitERKNS_12NetParameterE(net, 0); return (int)(long)net[1]; }
"#;

/// Each word is done: `+a` opens a.so, `g+a` with RTLD_GLOBAL, `-a` closes it, `a` makes a net in it, `j=a` by a function that ends with a
/// jump, `l=a` 200 nets. `t` leaves the rest to another thread, `o` lets one open and close c.so until the end. A closed file comes to another
/// address.
const PROGRAM: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    static void *handle[256];
    static void *find(char name, const char *symbol) {
      void *found = dlsym(handle[name], symbol);
      if (!found) { puts(dlerror()); exit(1); }
      return found;
    }
    static volatile int ends;
    static void *open_and_close(void *_) {
      while (!ends) dlclose(dlopen("./c.so", RTLD_NOW));
      return 0;
    }
    static void *work(void *words) {
      for (char **word = words; *word; ++word) {
        char *w = *word, name = w[strlen(w) - 1], path[] = {'.', '/', name, '.', 's', 'o', 0};
        if (!strcmp(w, "t")) {
          pthread_t thread;
          pthread_create(&thread, 0, work, word + 1);
          pthread_join(thread, 0);
          return 0;
        }
        if (!strcmp(w, "o")) {
          pthread_t thread;
          pthread_create(&thread, 0, open_and_close, 0);
          work(word + 1);
          ends = 1;
          pthread_join(thread, 0);
          return 0;
        }
        if (strchr(w, '+')) {
          handle[name] = dlopen(path, RTLD_NOW | (*w == 'g' ? RTLD_GLOBAL : 0));
          if (!handle[name]) { puts(dlerror()); exit(1); }
        } else if (*w == '-') {
          Dl_info file;
          dladdr(find(name, "make"), &file);
          dlclose(handle[name]);
          mmap(file.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        } else if (*w == 'j') {
          void *net[99];
          ((void (*)(void **))find(name, "jump"))(net);
          printf("%c %ld\n", name, (long)net[1]);
        } else {
          int made = 0;
          for (int i = *w == 'l' ? 200 : 1; i; --i) made += ((int (*)(void))find(name, "make"))();
          printf("%c %d\n", name, made);
        }
        fflush(stdout);
      }
      return 0;
    }
    int main(int arguments, char **words) { work(words + 1); return arguments == 1; }
"#;

fn workshop() -> Workshop {
    let workshop = Workshop::new();
    for (source, text) in [("plain.c", CAFFE), ("user.c", USER), ("program.c", PROGRAM)] {
        workshop.source(source, text);
    }
    for (name, who) in [("a", 1), ("b", 2), ("c", 3)] {
        let number = format!("-DWHO={who}");
        workshop.compile(&format!("{name}.so"), &["-shared", "-fPIC", "-O2", "plain.c", "-DMEMORY=1", &number]);
    }
    for (name, caffe) in [("x", "a.so"), ("y", "b.so")] {
        workshop.compile(&format!("{name}.so"), &["-shared", "-fPIC", "user.c", caffe, "-Wl,-rpath,$ORIGIN"]);
    }
    workshop.compile("program", &["program.c", "-ldl", "-lpthread"]);
    // Two that are bound within themselves.
    for (name, who) in [("d", 4), ("e", 5)] {
        let (number, memory) = (format!("-DWHO={who}"), "-DMEMORY=_ZN5caffe4BlobIfE3sumEv(9)");
        workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "plain.c", memory, &number]);
        std::fs::rename(workshop.path("libcaffe.so"), workshop.path(&format!("{name}.so"))).unwrap();
    }
    workshop.compile("z.so", &["-shared", "-fPIC", "user.c", "d.so", "-Wl,-rpath,$ORIGIN"]);
    workshop
}

/// The same with libsyncedmem_net.so as without, and the standard error.
#[track_caller]
fn is_the_same(workshop: &Workshop, options: &[&str], words: &str, expected: &str) -> String {
    let program: Vec<&str> = ["./program"].into_iter().chain(words.split(' ')).collect();
    let alone =
        said(std::process::Command::new(workshop.path("program")).args(&program[1..]).current_dir(&***workshop));
    assert_eq!((alone.status, alone.output.replace('\n', ", ").as_str()), (Some(0), expected), "{words}: {alone:?}");
    let named = workshop.run(options, &program);
    assert_eq!((named.status, &named.output), (Some(0), &alone.output), "{words}: {named:?}");
    named.error
}

#[test]
fn each_of_several_caffes_gets_its_own_calls() {
    let workshop = workshop();
    for (words, expected) in [
        ("+a a +b b a", "a 1, b 2, a 1, "),
        ("+a +b +c c b a b c", "c 3, b 2, a 1, b 2, c 3, "),
        ("+a +b j=b j=a j=b", "b 2, a 1, b 2, "),
        // A third file, which needs one of them.
        ("+a +b +y +x y x b a", "y 2, x 1, b 2, a 1, "),
        ("+y +x x y", "x 1, y 2, "),
        // Files that were loaded before the one in the global scope are bound to their own.
        ("+a a g+b b a +c c +x x", "a 1, b 2, a 1, c -3, x 2, "),
        ("g+b b +a a b", "b 2, a -3, b 2, "),
        ("+a t a +b b t a b", "a 1, b 2, a 1, b 2, "),
        ("+a +b o l=a l=b +x +y l=x l=y", "a 200, b 400, x 200, y 400, "),
    ] {
        is_the_same(&workshop, &[], words, expected);
    }
}

#[test]
fn a_caffe_is_closed_and_opened_again() {
    let workshop = workshop();
    for (words, expected) in [
        ("+a a -a +a a", "a 1, a 1, "),
        ("+a a -a +b b -b +a a +b b", "a 1, b 2, a 1, b 2, "),
        ("+a -a +b b +a a", "b 2, a 1, "),
        ("+a a t -a +a a t -a +b b +a a", "a 1, a 1, b 2, a 1, "),
        ("+x x -x +a a +x x", "x 1, a 1, x 1, "),
    ] {
        is_the_same(&workshop, &[], words, expected);
    }
}

#[test]
fn a_caffe_that_is_taken_over_is_closed_opened_again_and_beside_others() {
    let workshop = workshop();
    for (words, expected) in [
        ("+d d", "d 4, "),
        ("+d d -d +d d", "d 4, d 4, "),
        ("+d -d +d d", "d 4, "),
        ("+d -d +a a", "a 1, "),
        ("+d -d +e e +a a +d d", "e 5, a 1, d 4, "),
        ("+d d +e e d e", "d 4, e 5, d 4, e 5, "),
        ("+d d t -d +d d -d t +a a +d d", "d 4, d 4, a 1, d 4, "),
        ("+a a +d d a d +b b d", "a 1, d 4, a 1, d 4, b 2, d 4, "),
        ("g+a a +d d a d", "a 1, d 4, a 1, d 4, "),
        ("+a +z z a z", "z 4, a 1, z 4, "),
    ] {
        let error = is_the_same(&workshop, &["--take-over"], words, expected);
        let taken = "was taken over by entry patch: 6 of 6 functions, and 1 for the names of layers";
        assert_eq!(error.contains(taken), expected.contains(['d', 'e', 'z']), "{words}: {error}");
    }
}
