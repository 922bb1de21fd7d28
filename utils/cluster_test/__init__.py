"""Parts of utils/cluster-test."""
