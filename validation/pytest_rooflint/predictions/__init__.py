"""Subjects of `prediction` claims: latencies on silicon beside measurements that their constants have not seen."""
