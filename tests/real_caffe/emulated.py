"""Those checks of checks.py that are run on the Caffe of another processor, emulated: by `scripts/test aarch64-nightly`, for
two hours.
"""

import bound
import checks as common
import command
import sharing
from checking import Checks

# Each iteration of the training takes half a second.
Checks.iterations = 3


def a_caffe_that_is_bound_within_itself_trains_the_same(checks: Checks) -> str:
    """bound within itself, Caffe is taken over where that is asked for, with names, and trains the same on shared memory"""
    # The command sees the script in the program's place.
    return bound.a_caffe_that_is_bound_within_itself_trains_the_same(checks, "--take-over", modes=("gradients", "all"))


ALL = [
    common.a_training_is_the_same_byte_for_byte,
    common.every_object_made_is_destroyed,
    a_caffe_that_is_bound_within_itself_trains_the_same,
    command.a_training_under_run_is_the_same_and_is_accounted_for,
    common.the_librarys_limit_is_a_memory_error,
    common.pycaffe_computes_the_same,
    command.the_memory_of_a_training_has_the_names_of_its_layers_and_their_roles,
    command.solvers_with_two_histories_have_names_for_both,
    sharing.a_training_on_shared_memory_is_the_same,
    sharing.random_nets_compute_the_same,
    sharing.every_type_of_layer_computes_the_same_on_shared_memory,
    common.every_test_of_caffes_own_suite_passes,
]

if __name__ == "__main__":
    common.ALL[:] = ALL
    raise SystemExit(common.main())
