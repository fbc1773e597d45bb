"""The memory of one question: pictures, bindings and pages under names that the model can use."""
