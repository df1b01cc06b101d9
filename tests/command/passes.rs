//! Passes through nets in a trace: noted by the library that `syncedmem run` preloads for the names of layers.

use crate::caffe_like::Workshop;

/// A net and a solver whose functions are called as Caffe's are: through the PLT, and through a table of virtual functions.
const NET: &str = r#"
    #define APART __attribute__((noinline))
    namespace caffe {
    template <typename Dtype> struct Net {
      Dtype ForwardFromTo(int start, int end);
      void BackwardFromTo(int start, int end);
      int phase() const;
    };
    template <typename Dtype> struct Solver {
      virtual void ApplyUpdate() = 0;
      int iter() const;
      int updates = 4;
    };
    template <typename Dtype> struct SGDSolver : Solver<Dtype> { virtual void ApplyUpdate(); };
    template <typename Dtype> APART Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
      return start < 0 ? ForwardFromTo(-start, end) : start * 100 + end + Dtype(0.25);
    }
    template <typename Dtype> APART void Net<Dtype>::BackwardFromTo(int start, int end) {
      if (start > end) throw start;
    }
    template <typename Dtype> APART int Net<Dtype>::phase() const { return sizeof(Dtype) == 8; }
    template <typename Dtype> APART void SGDSolver<Dtype>::ApplyUpdate() { ++this->updates; }
    template <typename Dtype> APART int Solver<Dtype>::iter() const { return updates; }
    template struct Net<float>;
    template struct Net<double>;
    template struct Solver<float>;
    template struct SGDSolver<float>;
    }
    extern "C" caffe::SGDSolver<float> *solver() { static caffe::SGDSolver<float> solver; return &solver; }
"#;

/// A program that checks what it gets. It uses a blob first: that begins the trace.
const PROGRAM: &str = r#"
    #include <cstddef>
    namespace caffe {
    template <typename Dtype> struct Net { Dtype ForwardFromTo(int, int); void BackwardFromTo(int, int); };
    template <typename Dtype> struct SGDSolver { virtual void ApplyUpdate(); };
    extern template struct Net<float>;
    extern template struct Net<double>;
    }
    extern "C" int _ZN5caffe4BlobIfE3sumEv(size_t);
    extern "C" caffe::SGDSolver<float> *solver();
    int main() {
      caffe::Net<float> net;
      caffe::Net<double> tested;
      if (!_ZN5caffe4BlobIfE3sumEv(1000)) return 1;
      if (net.ForwardFromTo(-3, 7) != 307.25f || tested.ForwardFromTo(1, 2) != 102.25) return 2;
      net.BackwardFromTo(1, 2);
      try { net.BackwardFromTo(9, 2); return 3; } catch (int thrown) { if (thrown != 9) return 4; }
      solver()->ApplyUpdate();
      solver()->ApplyUpdate();
      return 7;
    }
"#;

#[test]
fn passes_are_in_a_trace_and_change_no_argument_no_result_and_no_exception() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source("net.cpp", NET);
    workshop.compile("libnet.so", &["-shared", "-fPIC", "net.cpp"]);
    workshop.source("passes.cpp", PROGRAM);
    workshop.compile("passes", &["passes.cpp", "-L.", "-lcaffe", "-lnet", "-Wl,-rpath,$ORIGIN"]);
    let passes = |options: &[&str]| {
        let result = workshop.run(&[&["--trace=t.trace"], options].concat(), &["./passes"]);
        assert_eq!(result.status, Some(7), "{}", result.error);
        let json = workshop.syncedmem(&["export", "t.trace", "-o", "-"]).ok();
        let records: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        let pass = |record: &serde_json::Value| {
            let arguments = &record["args"];
            (arguments["what"] == "pass")
                .then(|| (record["name"].as_str().unwrap().to_string(), arguments["iteration"].as_u64()))
        };
        records.iter().filter_map(pass).collect::<Vec<_>>()
    };
    let expected = [
        ("forward", None),
        ("test", None),
        ("backward", None),
        ("backward", None),
        ("update", Some(4)),
        ("update", Some(5)),
    ];
    assert_eq!(
        passes(&[]),
        expected.map(|(name, iteration)| (name.to_string(), iteration)),
        "the inner one is not counted"
    );
    let report = workshop.syncedmem(&["report", "t.trace", "--json"]).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let passes_of = report["processes"][0]["passes"].as_array().unwrap();
    let counted: Vec<_> =
        passes_of.iter().map(|pass| (pass["what"].as_str().unwrap(), pass["count"].as_u64())).collect();
    assert_eq!(counted, [("forward", Some(1)), ("backward", Some(2)), ("update", Some(2)), ("test", Some(1))]);
    assert_eq!(passes(&["--no-names"]), []);
}
