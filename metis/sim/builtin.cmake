# The built-in learning task: what simulations train without libtorch.
set(METIS_BUILTIN_SOURCES builtin_data.cc builtin_trainer.cc)
set(METIS_BUILTIN_TESTS builtin_trainer_test.cc)
