// The foot of every page: what explains it, and what machines read.

import { useQuery } from '@tanstack/react-query';
import { getHealthOptions } from '../api/generated/@tanstack/react-query.gen';
import { TextLink } from '../components/links';
import classes from './Footer.module.css';

export function Footer() {
  const { data: health } = useQuery({ ...getHealthOptions(), staleTime: Number.POSITIVE_INFINITY });
  return (
    <footer className={classes.footer}>
      <nav aria-label="Help" className={classes.links}>
        <TextLink to="/glossary" size="sm">
          Glossary
        </TextLink>
        {health?.documentation && <a href="/docs/">Documentation</a>}
        <a href="/api/v1/metrics">Metrics for Prometheus</a>
        {health && <span>Trimtab {health.version}</span>}
      </nav>
    </footer>
  );
}
