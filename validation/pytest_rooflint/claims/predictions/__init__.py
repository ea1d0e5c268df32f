"""Subjects of `prediction` claims: kernel times against measurements that their constants have not seen."""
